import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type BusCredentials, connectBus } from '@rollcall/shared/bus';
import { clusterRecord } from '@rollcall/shared/events';
import { resources } from '@rollcall/shared/kubernetes';
import { keyFingerprint } from '@rollcall/shared/trust';
import { expect, onTestFinished, test } from 'vitest';
import { openHubToRead } from '../../cli/verify/hub-to-read.ts';
import { verifyHub } from '../../cli/verify/verify.ts';
import { conditionOf, startTestEmbeddedHub, until } from '../harness/embedded.ts';
import { openSmallDisk, type SmallDisk, whyNoSmallDisk } from '../harness/small-disk.ts';

const noDisk = await whyNoSmallDisk();
if (noDisk !== undefined) console.info(`no slow disk: ${noDisk}`);

const slowMs = 2000;
/** Enough for what waits, and too little for what follows from it. */
const pauseMs = 1;

/** Every write that is to be on the disk takes two seconds, as on one that is dying or shared with too many. */
async function slowDown(disk: SmallDisk): Promise<{ stop(): Promise<void> }> {
  const over = new AbortController();
  await disk.hang();
  const slowing = (async () => {
    for (;;) {
      await delay(slowMs).finally(() => disk.goOn());
      if (over.signal.aborted) return;
      await delay(pauseMs);
      await disk.hang();
    }
  })();
  return {
    stop() {
      over.abort();
      return slowing;
    },
  };
}

/** How long a write takes there until it is on the disk, in ms. */
async function writeTakesMs({ directory }: SmallDisk): Promise<number> {
  const startMs = performance.now();
  const file = await open(join(directory, 'probe'), 'w');
  try {
    await file.write('x');
    await file.sync();
  } finally {
    await file.close();
  }
  return performance.now() - startMs;
}

test.skipIf(noDisk !== undefined)(
  'on a disk that takes two seconds for each write heartbeats, liveness and cuts go on, joins are slow and come, nobody is lost, and nothing is',
  async () => {
    const base = mkdtempSync(join(tmpdir(), 'rollcall-slow-'));
    const stateDir = join(base, 'hub');
    const directory = join(stateDir, 'nats', 'jetstream');
    const disk = await openSmallDisk({ directory, image: join(base, 'disk'), sizeBytes: 256 * 2 ** 20 });
    onTestFinished(async () => {
      await disk[Symbol.asyncDispose]();
      rmSync(base, { recursive: true, force: true });
    });
    await using hub = await startTestEmbeddedHub({
      stateDir,
      // Three writes of two seconds are a grace.
      settings: { approver: { heartbeatIntervalSeconds: '2', heartbeatGraceSeconds: '6' } },
    });
    const token = await hub.createToken({ uses: 'unlimited' });
    const names = ['stays', 'is-revoked', 'falls-silent'];
    const members = await Promise.all(names.map((name) => hub.startAgent({ name, token: token.text })));
    for (const name of names) await hub.untilReady(name);
    const before = await Array.fromAsync(hub.log.scan({}));
    const idOf = async (name: string) => (await hub.cluster(name))?.spec.clusterId ?? '';
    const ids = new Map(await Promise.all(names.map(async (name) => [name, await idOf(name)] as const)));

    const identity = readFileSync(join(stateDir, 'identities', 'heartbeat.json'), 'utf8');
    const { bus } = JSON.parse(identity) as { bus: BusCredentials };
    const listener = await connectBus(hub.up.natsAddress, bus, 'heartbeat');
    onTestFinished(() => listener.close());
    const heartbeats = new Map<string, number>();
    const lastHeartbeatMs = new Map<string, number>();
    let longestGapMs = 0;
    listener.subscribe('rollcall.heartbeat.*', {
      callback(_error, { subject }) {
        const [, , id = ''] = subject.split('.');
        const nowMs = performance.now();
        if (id === ids.get('stays'))
          longestGapMs = Math.max(longestGapMs, nowMs - (lastHeartbeatMs.get(id) ?? nowMs));
        lastHeartbeatMs.set(id, nowMs);
        heartbeats.set(id, (heartbeats.get(id) ?? 0) + 1);
      },
    });
    await listener.flush();

    const slow = await slowDown(disk);
    onTestFinished(() => slow.stop());
    const startMs = performance.now();
    const waits = [await writeTakesMs(disk), await writeTakesMs(disk)];
    expect(Math.max(...waits)).toBeGreaterThan(slowMs / 2);

    // A join: six events, one after the other.
    const late = await hub.startAgent({ name: 'late', token: token.text });
    await until(
      'who is new is Ready',
      async () => conditionOf(await hub.cluster('late'), 'Ready')?.status === 'True',
      { withinMs: 180_000 },
    );

    // A cut: the revocation is two events, and then nothing waits for the disk.
    const id = ids.get('is-revoked') ?? '';
    const { decision } = clusterRecord(await hub.log.read({ kind: 'cluster', id }));
    const operation = {
      id: 'out',
      verb: 'Revoke',
      keyFingerprint: keyFingerprint(decision?.approvedKey ?? ''),
      by: 'rollcall-admin',
    };
    await hub.up.admin.mergePatch(resources.managedClusters, 'is-revoked', { spec: { operation } });
    await until(
      'its heartbeats have ended',
      async () => performance.now() - (lastHeartbeatMs.get(id) ?? 0) > 6000,
      {
        withinMs: 180_000,
      },
    );
    await until(
      'the cut is told',
      async () => clusterRecord(await hub.log.read({ kind: 'cluster', id })).cut,
      { withinMs: 180_000 },
    );

    // Who falls silent is known.
    await members[2]?.agent.stop();
    await until(
      'it is shown',
      async () => conditionOf(await hub.cluster('falls-silent'), 'Ready')?.status === 'False',
      { withinMs: 180_000 },
    );

    const heartbeatsOf = heartbeats.get(ids.get('stays') ?? '') ?? 0;
    expect(heartbeatsOf).toBeGreaterThan((performance.now() - startMs) / 4000);
    expect(longestGapMs).toBeLessThan(6000);
    await slow.stop();
    await hub.untilReady('stays');
    await late.agent.stop();

    const after = await Array.fromAsync(hub.log.scan({}));
    const kept = new Map(after.map(({ sequence, digest }) => [sequence, digest]));
    for (const { sequence, digest } of before) expect(kept.get(sequence)).toBe(digest);
    const lost = after
      .filter(({ type }) => type === 'unreachable' || type === 'suspect')
      .map(({ id: of, type }) => `${of} ${type}`);
    expect(lost.filter((one) => !one.startsWith(ids.get('falls-silent') ?? ''))).toEqual([]);
    const toRead = await openHubToRead({ keys: stateDir });
    const { findings } = await verifyHub(toRead).finally(() => toRead.close());
    expect(findings).toEqual([]);
  },
);
