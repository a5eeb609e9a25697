import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { pinnedTools } from '../../tools/setup/pinned-tools.mjs';

/** Where the official images of each program have it. kubectl has no image of its own and comes from set-up. */
const images: Readonly<Record<string, (version: string) => { image: string; path: string }>> = {
  'nats-server': (version) => ({ image: `nats:${version}`, path: '/nats-server' }),
  etcd: (version) => ({ image: `registry.k8s.io/etcd:${version}-0`, path: '/usr/local/bin/etcd' }),
  'kube-apiserver': (version) => ({
    image: `registry.k8s.io/kube-apiserver:v${version}`,
    path: '/usr/local/bin/kube-apiserver',
  }),
  'kube-controller-manager': (version) => ({
    image: `registry.k8s.io/kube-controller-manager:v${version}`,
    path: '/usr/local/bin/kube-controller-manager',
  }),
};

/** Nothing of the image runs: a container is made, and a file taken out of it. */
async function fetchFromImage(image: string, path: string, folder: string): Promise<string> {
  const container = (await docker('create', '--network', 'none', image)).trim();
  try {
    await docker('cp', `${container}:${path}`, folder);
    return join(folder, basename(path));
  } finally {
    await docker('rm', container);
  }
}

async function docker(...args: readonly string[]): Promise<string> {
  return (await promisify(execFile)('docker', args)).stdout;
}

/**
 * Runs the integration set on the programs of the official images, for people who have Docker: each is taken out of its image
 * and named in the environment variable that set-up and tests honour first.
 */
export default async function useImages(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-images-'));
  for (const tool of pinnedTools) {
    const source = images[tool.name]?.(tool.version);
    if (source) process.env[tool.env] = await fetchFromImage(source.image, source.path, folder);
  }
}
