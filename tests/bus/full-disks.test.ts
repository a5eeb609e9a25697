import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { eventSpace } from '@rollcall/shared/bus';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../harness/embedded.ts';
import { declareToken } from '../harness/events.ts';
import { openSmallDisk, type SmallDisk, whyNoSmallDisk } from '../harness/small-disk.ts';
import { startTestHub } from '../harness/test-hub.ts';

const noDisk = await whyNoSmallDisk();
if (noDisk !== undefined) console.info(`no full disks: ${noDisk}`);

const diskBytes = 256 * 2 ** 20;

test.skipIf(noDisk !== undefined)(
  'one full disk of three is none of the hub’s; with two there is no room for events',
  async () => {
    const disks: SmallDisk[] = [];
    const images: string[] = [];
    const hub = await startTestHub({
      servers: 3,
      async beforeStart(stateDir) {
        for (const name of ['nats', 'nats-2', 'nats-3']) {
          const image = `${stateDir}-${name}.disk`;
          images.push(image);
          const directory = join(stateDir, name, 'jetstream');
          disks.push(await openSmallDisk({ directory, image, sizeBytes: diskBytes }));
        }
      },
    });
    onTestFinished(async () => {
      await Promise.all(hub.nodes.map((node) => node.server().kill()));
      for (const disk of disks) await disk[Symbol.asyncDispose]();
      for (const image of images) rmSync(image, { force: true });
      await hub[Symbol.asyncDispose]();
    });
    const log = await hub.openLog('approver');
    const registrar = await hub.connectAs('registrar');
    const usedShare = async () => (await eventSpace(registrar))?.usedShare;
    const append = () => declareToken(log, hub.hub.hubId).catch(() => undefined);

    await disks[0]?.fill();
    for (let count = 0; count < 20; count++) await until('an append', append);
    expect((await usedShare()) ?? 0).toBeLessThan(0.5);
    await disks[1]?.fill();
    await until('the hub is full', async () => {
      await append();
      return (await usedShare()) === 1;
    });
    expect(await append()).toBeUndefined();
  },
);
