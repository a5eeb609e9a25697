import { readFile } from 'node:fs/promises';
import { RollcallError } from '../../errors/index.ts';
import type { TokenSource } from './kube-access.ts';

/** The kubelet replaces a token when a fifth of its life is left, so a minute's delay never matters. */
const freshMs = 60_000;

/** Reads a token from a file, and again every minute: the kubelet rotates the tokens of pods. */
export function tokenFile(path: string): TokenSource {
  let token = '';
  let readAtMs = -Infinity;
  return async () => {
    if (performance.now() - readAtMs < freshMs) return token;
    try {
      token = (await readFile(path, 'utf8')).trim();
    } catch (error) {
      throw new RollcallError('KUBECONFIG_INVALID', `cannot read the token file "${path}"`, { cause: error });
    }
    readAtMs = performance.now();
    return token;
  };
}
