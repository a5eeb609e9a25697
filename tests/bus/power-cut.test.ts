import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { tokenIdOf } from '@rollcall/shared/trust';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../harness/embedded.ts';
import { declareToken } from '../harness/events.ts';
import { openSmallDisk, type SmallDisk, whyNoSmallDisk } from '../harness/small-disk.ts';
import { startTestHub, type TestHub } from '../harness/test-hub.ts';

/**
 * What an acknowledged event survives. Each NATS server writes to a disk of its own, whose power goes while events are written:
 * what only the kernel's memory had is lost.
 */
const noDisk = await whyNoSmallDisk();
if (noDisk !== undefined) console.info(`no power cuts: ${noDisk}`);

const cuts = 3;
const acknowledgedBeforeCut = 60;
const writers = 4;
const diskBytes = 256 * 2 ** 20;

interface PoweredHub {
  readonly hub: TestHub;
  /** All servers at once, and they start again on what is left. */
  losePower(restart: () => Promise<void>): Promise<void>;
  kill(): Promise<void>;
}

async function startPowered(servers: 1 | 3): Promise<PoweredHub> {
  const disks: { disk: SmallDisk; image: string }[] = [];
  const hub = await startTestHub({
    servers,
    async beforeStart(stateDir) {
      for (let index = 1; index <= servers; index++) {
        const name = index === 1 ? 'nats' : `nats-${index}`;
        const image = `${stateDir}-${name}.disk`;
        const directory = join(stateDir, name, 'jetstream');
        disks.push({ image, disk: await openSmallDisk({ directory, image, sizeBytes: diskBytes }) });
      }
    },
  });
  const kill = async () => {
    await Promise.all(
      hub.nodes.length > 0 ? hub.nodes.map((node) => node.server().kill()) : [hub.natsServer.kill()],
    );
  };
  onTestFinished(async () => {
    await kill();
    for (const { disk, image } of disks) {
      await disk[Symbol.asyncDispose]();
      rmSync(image, { force: true });
    }
    await hub[Symbol.asyncDispose]();
  });
  return {
    hub,
    kill,
    async losePower(restart) {
      for (const { disk } of disks) await disk.losePower();
      await restart();
    },
  };
}

/** Several writers, whose servers end under them. @returns the ids that were acknowledged */
async function writeUntilKilled({ hub, kill }: PoweredHub): Promise<string[]> {
  const log = await hub.openLog('approver');
  const acknowledged: string[] = [];
  let killed: Promise<void> | undefined;
  async function write(): Promise<void> {
    while (killed === undefined) {
      const token = await declareToken(log, hub.hub.hubId).catch(() => undefined);
      if (token) acknowledged.push(tokenIdOf(token.key.publicKey));
      if (acknowledged.length >= acknowledgedBeforeCut) killed ??= kill();
    }
  }
  await Promise.all(Array.from({ length: writers }, write));
  await killed;
  return acknowledged;
}

/** The ids of all events; none where even the stream is gone. */
async function idsOf({ hub }: PoweredHub): Promise<Set<string>> {
  const log = await hub.openLog('approver');
  const events = await until('the events can be read', () => Array.fromAsync(log.scan({})));
  return new Set(events.map(({ id }) => id));
}

const lostOf = (acknowledged: readonly string[], kept: ReadonlySet<string>) =>
  acknowledged.filter((id) => !kept.has(id));

test.skipIf(noDisk !== undefined)(
  'a power cut takes acknowledged events from a server with its own setting, and none with ours',
  async () => {
    const powered = await startPowered(1);
    const { hub } = powered;
    const asItComes = (config: string) => config.replace('sync_interval: always', '');
    await hub.natsServer.restartChanged(asItComes);
    const careless = await writeUntilKilled(powered);
    await powered.losePower(() => hub.natsServer.restart());
    // Without a loss the harness cuts no power, and the rest would prove nothing.
    expect(lostOf(careless, await idsOf(powered))).not.toEqual([]);

    const acknowledged: string[] = [];
    for (let cut = 0; cut < cuts; cut++) {
      acknowledged.push(...(await writeUntilKilled(powered)));
      await powered.losePower(() => hub.natsServer.restart());
      expect(lostOf(acknowledged, await idsOf(powered))).toEqual([]);
    }
    expect(acknowledged.length).toBeGreaterThanOrEqual(cuts * acknowledgedBeforeCut);
  },
);

test.skipIf(noDisk !== undefined)(
  'three servers that lose their power together have every acknowledged event',
  async () => {
    const powered = await startPowered(3);
    const restart = async () => {
      await Promise.all(powered.hub.nodes.map((node) => node.start()));
    };
    const acknowledged: string[] = [];
    for (let cut = 0; cut < cuts; cut++) {
      acknowledged.push(...(await writeUntilKilled(powered)));
      await powered.losePower(restart);
      expect(lostOf(acknowledged, await idsOf(powered))).toEqual([]);
    }
  },
);
