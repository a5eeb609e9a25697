import { execFileSync } from 'node:child_process';
import { createWriteStream, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { GenericContainer } from 'testcontainers';
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

async function fetchFromImage(image: string, path: string, folder: string): Promise<string> {
  const container = await new GenericContainer(image)
    .withEntrypoint([path])
    .withCommand(['--version'])
    .start();
  try {
    const archive = join(folder, `${basename(path)}.tar`);
    await pipeline(await container.copyArchiveFromContainer(path), createWriteStream(archive));
    execFileSync('tar', ['-xf', archive, '-C', folder]);
    return join(folder, basename(path));
  } finally {
    await container.stop();
  }
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
