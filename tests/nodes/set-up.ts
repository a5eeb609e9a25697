import type { TestProject } from 'vitest/node';
import { type NodeParts, provideNodes } from './provide-nodes.ts';

/** What set-up gives to the tests. */
export interface ProvidedForNodes extends NodeParts {
  /** Why there can be no nodes here; everything else means nothing then. */
  readonly whyNot: string | undefined;
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
  const provided = await provideNodes();
  const { whyNot } = provided;
  if (whyNot !== undefined) {
    process.stderr.write(`nodes: not run: ${whyNot}\n`);
    project.provide('nodes', { whyNot, programs: none, imagesFile: '' });
    return async () => undefined;
  }
  project.provide('nodes', { whyNot, ...provided.parts });
  return provided.end;
}
