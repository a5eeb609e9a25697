import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';

/** An earlier version as it was published: what `npm run build` made of that commit, and the schemas of its events. */
export interface RecordedRelease {
  readonly version: string;
  readonly commit: string;
  /** By path, with `/` between folders. */
  readonly files: Readonly<Record<string, string>>;
}

const repository = join(import.meta.dirname, '..', '..');
export const releaseFile = join(repository, 'tests', 'fixtures', 'releases', 'previous.json.br');

export function readRelease(): RecordedRelease {
  return JSON.parse(brotliDecompressSync(readFileSync(releaseFile)).toString()) as RecordedRelease;
}

export interface UnpackedRelease extends Disposable {
  readonly version: string;
  /** Its `rollcall`: a file for Node. */
  readonly cliMain: string;
}

/** Where it can be run: its own packages find each other, and everything that they depend on in this checkout. */
export function unpackRelease(): UnpackedRelease {
  const { version, files } = readRelease();
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-release-'));
  symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'));
  const release = join(folder, 'release');
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(release, path)), { recursive: true });
    writeFileSync(join(release, path), text);
  };
  for (const [path, text] of Object.entries(files)) {
    write(path, text);
    const [, packageFolder] = /^(.+)\/package\.json$/.exec(path) ?? [];
    if (packageFolder === undefined) continue;
    const { name } = JSON.parse(text) as { name: string };
    const link = join(release, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(release, packageFolder), link);
  }
  return {
    version,
    cliMain: join(release, 'cli', 'main.js'),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
