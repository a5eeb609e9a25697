import { existsSync } from 'node:fs';
import { RollcallError } from '@rollcall/shared/errors';
import { cacheFolder, pathInCache } from '../../tools/setup/cache-folder.mjs';
import { isAsNoted } from '../../tools/setup/cache-note.mjs';
import { pinnedTools } from '../../tools/setup/pinned-tools.mjs';
import { readRecord } from '../../tools/setup/program-record.mjs';

/** The programs of an embedded hub that set-up provides. */
export type BinaryName = 'nats-server' | 'etcd' | 'kube-apiserver' | 'kube-controller-manager' | 'kubectl';

/**
 * Finds a program of the embedded hub: explicit path in the environment, what set-up noted, the cache of set-up.
 * Nothing is run or asked for its version here; set-up has done that, and it runs before every `npm start`. One of the cache that
 * was touched since is compared with its SHA-256.
 * @returns an absolute path, or the one from the environment as it was given
 * @throws RollcallError BINARY_MISSING, naming the environment variable that takes a path
 */
export function findBinary(name: BinaryName): string {
  const tool = pinnedTools.find((pinned) => pinned.name === name);
  if (tool === undefined)
    throw new RollcallError('BINARY_MISSING', `"${name}" is not a program that set-up knows`);
  const explicit = process.env[tool.env];
  if (explicit) {
    if (existsSync(explicit)) return explicit;
    throw new RollcallError('BINARY_MISSING', `${tool.env}="${explicit}": there is no such file`);
  }
  const cached = pathInCache(cacheFolder(process.env), tool);
  const found = [readRecord()[name]?.path, cached].find((path) => path !== undefined && existsSync(path));
  if (found === cached && !isAsNoted(cached))
    throw new RollcallError(
      'BINARY_MISSING',
      `"${cached}" is not what set-up put there, its SHA-256 is another; \`npm run setup\` makes it again`,
    );
  if (found !== undefined) return found;
  throw new RollcallError(
    'BINARY_MISSING',
    `no ${name} ${tool.version} in the cache, and ${tool.env} is not set`,
  );
}
