import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DeliverPolicy, jetstreamManager } from '@nats-io/jetstream';
import { loadConfig } from '@rollcall/shared/config';
import { changed, clusterRecord, draft } from '@rollcall/shared/events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { archiveEvents } from '../../cli/history/write-archive.ts';
import { askServices, figureOf } from '../../cli/status/ask-services.ts';
import { configSchema, start } from '../../services/registrar/main.ts';
import { until } from '../harness/embedded.ts';
import { aDecision, declareToken } from '../harness/events.ts';
import { connectWithToken } from '../harness/raw-agent.ts';
import { startTestHub, type TestHub } from '../harness/test-hub.ts';

/** The way out of a place for events that is nearly full, which is not a larger one (docs/operations.md). */
let hub: TestHub;
const directory = mkdtempSync(join(tmpdir(), 'rollcall-way-out-'));
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

const dayMs = 86_400_000;

test('a hub at HUB_FULL takes requests again after an archiving of a flood that is five days old', async () => {
  const approver = await hub.openLog('approver');
  const jsm = await jetstreamManager(await hub.connectAsOperator());
  const space = { spaceInterval: '1s' };
  const values = { ...hub.serviceSettings('registrar'), ...space };
  const registrar = await start(loadConfig(configSchema, { flags: {}, environment: {}, values }));
  try {
    const token = await declareToken(approver, hub.hub.hubId, { uses: 'unlimited' });
    const agent = await connectWithToken(hub, token);
    const body = {
      clusterId: randomUUID(),
      clusterName: 'late',
      tokenKey: token.key.publicKey,
      facts: { kubernetesVersion: 'v1.36.3' },
    };
    async function ask(): Promise<string> {
      const { result } = await agent.request('join', body, { signers: [agent.key, token.key] });
      return result.kind === 'refused' ? result.code : result.kind;
    }
    for (let count = 0; count < 400; count++) {
      const record = clusterRecord(await approver.read({ kind: 'cluster', id: 'flood' }));
      const section = aDecision({ verdict: 'approved', labels: { count: String(count) } });
      await approver.append([draft(changed, record, { reason: 'R', message: 'm', section })], {
        correlation: 'test',
      });
    }
    const { config, state } = await jsm.streams.info('EVENTS');
    await jsm.streams.update('EVENTS', { ...config, max_bytes: Math.floor(state.bytes / 0.9) });
    const inspector = await hub.connectAs('inspector');
    const usedPercent = async () =>
      figureOf(await askServices(inspector), 'registrar', 'eventsUsedPercent') ?? 100;
    await until('the registrar has seen it', async () => (await usedPercent()) >= 85);
    expect(await ask()).toBe('HUB_FULL');

    // Of the services only the registrar runs here: the others have handled what there is.
    for (const { name, config: made } of await jsm.consumers.list('EVENTS').next()) {
      if (name === 'registrar') continue;
      await jsm.consumers.delete('EVENTS', name);
      await jsm.consumers.add('EVENTS', { ...made, deliver_policy: DeliverPolicy.New });
    }
    const nc = await hub.connectWith(hub.credentialsOf('archive'), 'archive');
    const { hubId, epoch } = hub.hub;
    const nowMs = Date.now() + 5 * dayMs;
    const archiveOlderThan = (days: number) =>
      archiveEvents(
        { nc, hubId, epoch },
        { directory, olderThanMs: nowMs - days * dayMs, nowMs, operator: 'a test' },
      );
    // As the least age was: nothing of these days may go, and the hub stays full for a month.
    expect(await archiveOlderThan(30)).toBeUndefined();
    expect((await archiveOlderThan(4))?.events).toBeGreaterThan(390);
    await until('there is room', async () => (await usedPercent()) < 85);
    expect(await ask()).toBe('waiting');
    expect((await jsm.streams.info('EVENTS')).config.max_bytes).toBe(Math.floor(state.bytes / 0.9));
  } finally {
    await registrar.stop();
  }
});
