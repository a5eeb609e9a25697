import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { baseImages, buildProductImages, makeBaseImages, saveImages } from './machine/base-images.ts';
import { startEngine } from './machine/engine.ts';
import { providePackages, whyNoNodes } from './machine/needs.ts';
import { makeBridge } from './machine/network.ts';
import { dataBase } from './machine/places.ts';
import { buildPrograms, type Programs } from './machine/programs.ts';
import { startGuard, step } from './machine/run.ts';

/** What every node begins with. */
export interface NodeParts {
  readonly programs: Programs;
  /** All images that pods begin with. */
  readonly imagesFile: string;
}

export type ProvidedNodes =
  /** Why there can be no nodes here. */
  | { readonly whyNot: string }
  | { readonly whyNot: undefined; readonly parts: NodeParts; end(): Promise<void> };

/**
 * Provides what nodes need on this machine, and says each step. `end` takes all of it away; so does a process beside this one, however
 * this one ends.
 * @throws Error where an image of the product cannot be built
 */
export async function provideNodes(): Promise<ProvidedNodes> {
  const whyNot = whyNoNodes();
  if (whyNot !== undefined) return { whyNot };
  const guard = await startGuard(join(import.meta.dirname, 'machine', 'guard.ts'));
  try {
    const programs = await prepareMachine().catch((error: unknown) => String(error));
    if (typeof programs === 'string') {
      await guard.end();
      return { whyNot: programs };
    }
    return { whyNot, parts: { programs, imagesFile: await makeImages() }, end: guard.end };
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
