import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** The first folder above that is there. */
function parentOf(path: string): string {
  const parent = dirname(path);
  return existsSync(parent) || parent === path ? parent : parentOf(parent);
}

/** Works on a copy of a directory of keys, beside it and for its owner alone, which is gone afterwards, also where a signal ends it. */
export async function withCopyOf<Result>(
  directory: string,
  work: (copy: string) => Promise<Result>,
): Promise<Result> {
  const path = resolve(directory);
  const copy = mkdtempSync(join(parentOf(path), `${basename(path)}-dry-run-`));
  const remove = () => rmSync(copy, { recursive: true, force: true });
  function end(signal: NodeJS.Signals): void {
    remove();
    process.kill(process.pid, signal);
  }
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) process.once(signal, end);
  try {
    for (const entry of existsSync(path) ? readdirSync(path) : [])
      cpSync(join(path, entry), join(copy, entry), { recursive: true });
    return await work(copy);
  } finally {
    for (const signal of signals) process.off(signal, end);
    remove();
  }
}
