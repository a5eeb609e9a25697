import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openHubToRead } from '../../cli/verify/hub-to-read.ts';
import { verifyHub } from '../../cli/verify/verify.ts';
import { askServices, figureOf } from '../../cli/status/ask-services.ts';
import { connectAsInspector } from '../../cli/up/state/people-connection.ts';
import { expect, onTestFinished, test } from 'vitest';
import { resources } from '@rollcall/shared/kubernetes';
import { conditionOf, startTestEmbeddedHub, until } from '../harness/embedded.ts';
import { openSmallDisk, whyNoSmallDisk } from '../harness/small-disk.ts';

const noDisk = await whyNoSmallDisk();
if (noDisk !== undefined) console.info(`no full disk: ${noDisk}`);

const diskBytes = 256 * 2 ** 20;

test.skipIf(noDisk !== undefined)(
  'on a disk without a byte left new requests are refused with the reason, members stay Ready, nothing is lost, and with room it goes on by itself',
  async () => {
    const base = mkdtempSync(join(tmpdir(), 'rollcall-full-'));
    const stateDir = join(base, 'hub');
    const image = join(base, 'disk');
    const disk = await openSmallDisk({
      directory: join(stateDir, 'nats', 'jetstream'),
      image,
      sizeBytes: diskBytes,
    });
    onTestFinished(async () => {
      await disk[Symbol.asyncDispose]();
      rmSync(base, { recursive: true, force: true });
    });
    await using hub = await startTestEmbeddedHub({
      stateDir,
      settings: { registrar: { spaceInterval: '1s' } },
    });
    const token = await hub.createToken({ uses: 'unlimited' });
    await hub.startAgent({ name: 'member', token: token.text });
    await hub.untilReady('member');
    const before = await Array.fromAsync(hub.log.scan({}));
    const ops = await connectAsInspector(stateDir, hub.up.natsAddress);
    onTestFinished(() => ops.close());
    const usedPercent = async () => figureOf(await askServices(ops), 'registrar', 'eventsUsedPercent');

    await disk.fill();
    const { agent, phases } = await hub.startAgent({ name: 'late', token: token.text });
    await until('the agent is told that it cannot be now', async () =>
      phases.some(({ message }) => /the bus (took no batch|did not answer|cannot do it now)/.test(message)),
    );
    // Events by themselves, as there always are: once what was left of a block is used, the NATS server gives the stream up.
    let changes = 0;
    await until('the registrar knows that nothing can be written', async () => {
      const labels = { changes: `c${changes++}` };
      await hub.up.admin.mergePatch(resources.managedClusters, 'member', { metadata: { labels } });
      return (await usedPercent()) === 100;
    });
    await until('the agent is told why', async () =>
      phases.some(({ message }) => message.includes('the disk for the events of this hub is 100 % full')),
    );
    expect(await hub.cluster('late')).toBeUndefined();
    expect(conditionOf(await hub.cluster('member'), 'Ready')?.status).toBe('True');

    await disk.makeRoom();
    await hub.untilReady('late');
    await agent.stop();
    const after = await Array.fromAsync(hub.log.scan({}));
    const kept = new Map(after.map(({ sequence, digest }) => [sequence, digest]));
    for (const { sequence, digest } of before) expect(kept.get(sequence)).toBe(digest);
    expect(after.filter(({ type }) => type === 'unreachable')).toEqual([]);
    const toRead = await openHubToRead({ keys: stateDir });
    const { findings } = await verifyHub(toRead).finally(() => toRead.close());
    expect(findings).toEqual([]);
  },
);
