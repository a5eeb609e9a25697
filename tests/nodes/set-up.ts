import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { baseImages, buildProductImages, makeBaseImages, saveImages } from './machine/base-images.ts';
import { startEngine } from './machine/engine.ts';
import { providePackages, whyNoNodes } from './machine/needs.ts';
import { makeBridge } from './machine/network.ts';
import { dataBase } from './machine/places.ts';
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

/**
 * Provides what nodes need, once for all files. What this machine lets nobody have (packages, a bridge, an engine) means that nothing
 * is run, and is said; an image of the product that cannot be built is a failure.
 * @returns what takes all of it away
 */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  function notRun(whyNot: string): () => Promise<void> {
    process.stderr.write(`nodes: not run: ${whyNot}\n`);
    project.provide('nodes', { whyNot, programs: none, imagesFile: '' });
    return async () => undefined;
  }
  const whyNot = whyNoNodes();
  if (whyNot !== undefined) return notRun(whyNot);
  const guard = await startGuard(join(import.meta.dirname, 'machine', 'guard.ts'));
  try {
    const programs = await prepareMachine().catch((error: unknown) => String(error));
    if (typeof programs === 'string') {
      await guard.end();
      return notRun(programs);
    }
    project.provide('nodes', { whyNot, programs, imagesFile: await makeImages() });
    return guard.end;
  } catch (error) {
    await guard.end();
    throw error;
  }
}

async function prepareMachine(): Promise<Programs> {
  await providePackages();
  mkdirSync(dataBase, { recursive: true, mode: 0o700 });
  await makeBridge();
  const programs = await buildPrograms();
  await step('starting a container engine', startEngine);
  await makeBaseImages(programs.coredns);
  return programs;
}

/** @returns the file with all that nodes begin with */
async function makeImages(): Promise<string> {
  const [rollcall = '', agent = ''] = await buildProductImages();
  const file = join(dataBase, 'images.tar');
  const { pause, dns, busybox, nats } = baseImages;
  await step('saving images for the nodes', () =>
    saveImages(file, [pause, dns, busybox, nats, rollcall, agent]),
  );
  return file;
}
