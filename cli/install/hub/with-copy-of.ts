import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Works on a copy of a directory of keys, beside it and for its owner alone, which is gone afterwards. */
export async function withCopyOf<Result>(
  directory: string,
  work: (copy: string) => Promise<Result>,
): Promise<Result> {
  const copy = mkdtempSync(`${directory}-dry-run-`);
  try {
    for (const entry of existsSync(directory) ? readdirSync(directory) : [])
      cpSync(join(directory, entry), join(copy, entry), { recursive: true });
    return await work(copy);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}
