import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { RollcallError } from '@rollcall/shared/errors';

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export interface PageFile {
  readonly type: string;
  readonly gzip: Uint8Array<ArrayBuffer>;
}

/** Where the build puts the page: beside this folder, in a checkout as in what is published. */
const pageFolder = join(import.meta.dirname, '..', 'page', 'dist');

/**
 * Reads the built page into memory, so that no path of a request ever reaches the file system.
 * @returns files by path
 * @throws RollcallError USAGE where the page was not built
 */
export async function pageFiles(folder = pageFolder): Promise<ReadonlyMap<string, PageFile>> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = new Map<string, PageFile>();
  for (const entry of found) {
    const type = types[extname(entry.name)];
    if (!entry.isFile() || type === undefined) continue;
    const path = join(entry.parentPath, entry.name);
    const gzip = new Uint8Array(gzipSync(await readFile(path), { level: 9 }));
    files.set(path.slice(folder.length).replaceAll('\\', '/'), { type, gzip });
  }
  if (files.has('/index.html')) return files;
  throw new RollcallError('USAGE', 'the page of the console is not built here: run `npm run build` first');
}
