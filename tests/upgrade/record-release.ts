/**
 * `node tests/upgrade/record-release.ts`: keeps this checkout, as `npm run build` publishes it, for the next minor version to be
 * tested against. Run on the commit of a release, with nothing changed.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { rollcallVersion } from '@rollcall/shared/service';
import { type RecordedRelease, releaseFile } from './recorded-release.ts';

const repository = join(import.meta.dirname, '..', '..');
const run = (command: string, ...args: string[]) =>
  execFileSync(command, args, { cwd: repository, encoding: 'utf8' }).trim();

if (run('git', 'status', '--porcelain') !== '') throw new Error('this is no commit: something is changed');
run(process.execPath, 'tools/build.mjs');

// The bundle of the agent's image is the same once more.
const isKept = (path: string) =>
  !/(^|\/)node_modules\/|^(agent-image|served)\/|\.map$|package-lock/.test(path);

/** Every file of a folder, by its path in there. */
function filesIn(folder: string): [string, string][] {
  const root = join(repository, folder);
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter(isKept)
    .toSorted()
    .map((path) => [path, readFileSync(join(root, path), 'utf8')]);
}

// What an earlier version says on the wire stands in its schemas.
const schemas = filesIn('docs/events').map(([path, text]) => [`docs/events/${path}`, text]);
const files = [...filesIn('dist'), ...schemas];
const release: RecordedRelease = {
  version: rollcallVersion,
  commit: run('git', 'rev-parse', 'HEAD'),
  files: Object.fromEntries(files),
};
const text = Buffer.from(JSON.stringify(release));
const packed = brotliCompressSync(text, {
  params: { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_SIZE_HINT]: text.length },
});
mkdirSync(dirname(releaseFile), { recursive: true });
writeFileSync(releaseFile, packed);
process.stdout.write(
  `${release.version} of ${release.commit}: ${files.length} files, ${packed.length} bytes\n`,
);
