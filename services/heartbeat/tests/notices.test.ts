import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { everyAccount } from '@rollcall/shared/rights';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { askServices } from '../../../cli/status/ask-services.ts';
import { judgeHub } from '../../../cli/status/hub-status.ts';
import { startTestHub, type TestHub } from '../../../tests/harness/test-hub.ts';
import { checkNotices } from '../connections/notice-check.ts';
import { pushClaims, startHeartbeat } from './test-member.ts';

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(() => hub[Symbol.asyncDispose]());

const probe = () => ({ address: hub.address, user: hub.credentialsOf('notice-probe') });

/** The account of the services as it would be with one import less: no error anywhere, and nothing arrives. */
async function withoutNotices(kind: 'connected' | 'disconnected'): Promise<() => Promise<string>> {
  const found = everyAccount(hub.hub.keys).find(({ name }) => name === 'HEARTBEAT');
  const claims = found?.claims as { imports: { name: string }[] };
  const { imports } = claims;
  const fewer = imports.filter(({ name }) => name !== `rollcall.sys.${kind}`);
  expect(fewer).toHaveLength(imports.length - 1);
  await pushClaims(hub, { account: 'HEARTBEAT', nats: { ...claims, imports: fewer } });
  return () => pushClaims(hub, { account: 'HEARTBEAT', nats: claims, aheadMs: 2000 });
}

test('a connection of an agent is told, and its end', async () => {
  const nc = await hub.connectAs('heartbeat');
  expect(await checkNotices(nc, probe())).toBeUndefined();
});

test.each(['connected', 'disconnected'] as const)(
  'notices of %s agents that do not arrive show in health, metrics and status, until they do',
  async (kind) => {
    const restore = await withoutNotices(kind);
    const service = await startHeartbeat(hub, { healthPort: '0' });
    const page = async (path: string) =>
      (await fetch(`http://127.0.0.1:${service.healthPort}${path}`)).text();
    try {
      await expect.poll(() => page('/readyz'), { timeout: 15_000 }).toContain('degraded: one signal');
      expect(await page('/metrics')).toContain('rollcall_liveness_signals 1');
      const answers = await askServices(await hub.connectAs('inspector'));
      const kubernetes = { server: 'https://127.0.0.1', version: undefined, admission: [] };
      const { problems } = judgeHub({ answers, streams: {}, server: '', version: '' }, kubernetes);
      expect(problems.map(({ text }) => text).join()).toContain('degraded to one signal');
    } finally {
      await restore();
    }
    const nc = await hub.connectAs('heartbeat');
    expect(await checkNotices(nc, probe())).toBeUndefined();
  },
);

test('an identity of before the check says that it was not checked', async () => {
  const path = join(hub.stateDir, 'identities', 'heartbeat.json');
  const { noticeProbe: _none, ...older } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
  const identityFile = join(hub.stateDir, 'older-heartbeat.json');
  writeFileSync(identityFile, JSON.stringify(older), { mode: 0o600 });
  const service = await startHeartbeat(hub, { healthPort: '0', identityFile });
  const answer = await fetch(`http://127.0.0.1:${service.healthPort}/readyz`);
  expect(await answer.text()).toContain('set up before');
});
