import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { withLock } from '../../tools/setup/lock.mjs';
import { baseImages, buildProductImages, makeBaseImages, saveImages } from './machine/base-images.ts';
import { cleanUp } from './machine/clean-up.ts';
import { startEngine } from './machine/engine.ts';
import { providePackages, whyNoNodes } from './machine/needs.ts';
import { makeBridge } from './machine/network.ts';
import { dataBase, kept } from './machine/places.ts';
import { buildPrograms, type Programs } from './machine/programs.ts';
import { startGuard, step } from './machine/run.ts';

/** What set-up gives to the tests. */
export interface ProvidedForNodes {
  /** Why there can be no nodes here; everything else means nothing then. */
  readonly whyNot: string | undefined;
  readonly programs: Programs;
  /** All images that pods of tests begin with. */
  readonly imagesFile: string;
}

declare module 'vitest' {
  export interface ProvidedContext {
    nodes: ProvidedForNodes;
  }
}

const none = { kubelet: '', 'kube-proxy': '', 'kube-scheduler': '', coredns: '' };

/** Provides what nodes need, once for all files. @returns what takes all of it away */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const whyNot = whyNoNodes() ?? (await providePackages().then(() => undefined, String));
  if (whyNot !== undefined) {
    process.stderr.write(`nodes: not run: ${whyNot}\n`);
    project.provide('nodes', { whyNot, programs: none, imagesFile: '' });
    return async () => undefined;
  }
  const finished = Promise.withResolvers<void>();
  const ready = Promise.withResolvers<void>();
  const onWait = (holder: string) => process.stderr.write(`nodes: waiting for another run (${holder})\n`);
  const held = withLock(join(kept, 'lock'), { onWait }, async () => {
    await step('clearing away what an earlier run has left', cleanUp);
    const guard = startGuard(join(import.meta.dirname, 'machine', 'guard.ts'));
    try {
      project.provide('nodes', { whyNot, ...(await provide()) });
      ready.resolve();
      await finished.promise;
    } finally {
      await guard.end();
    }
  });
  held.catch(ready.reject);
  await ready.promise;
  return () => {
    finished.resolve();
    return held;
  };
}

async function provide(): Promise<Pick<ProvidedForNodes, 'programs' | 'imagesFile'>> {
  mkdirSync(dataBase, { recursive: true, mode: 0o700 });
  await makeBridge();
  const programs = await buildPrograms();
  await step('starting a container engine', startEngine);
  await makeBaseImages(programs.coredns);
  const [rollcall = '', agent = ''] = await buildProductImages();
  const imagesFile = join(dataBase, 'images.tar');
  await step('saving images for the nodes', () =>
    saveImages(imagesFile, [
      baseImages.pause,
      baseImages.dns,
      baseImages.busybox,
      baseImages.nats,
      rollcall,
      agent,
    ]),
  );
  return { programs, imagesFile };
}
