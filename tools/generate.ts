import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chartFiles } from './generate/generate-charts.ts';
import { cliDocs } from './generate/generate-cli-docs.ts';
import { crdFiles } from './generate/generate-crds.ts';
import { errorCodesDoc } from './generate/generate-error-codes.ts';
import { eventCausesDoc } from './generate/generate-event-causes.ts';
import { eventDocs } from './generate/generate-event-docs.ts';
import { metricDocs } from './generate/generate-metric-docs.ts';
import { parityDoc } from './generate/generate-parity.ts';
import { permissionsDoc } from './generate/generate-permissions.ts';
import { resourceDocs } from './generate/generate-resource-docs.ts';
import type { Generated } from './generate/generated-file.ts';
import { oneSentenceALine } from './one-sentence-a-line.ts';

/**
 * Writes every file of the repository that is derived from a zod schema, from the rights table, from a manifest or from the titles of tests. `--check`
 * writes nothing and exits 1, naming the files that are missing, stale or left over.
 */

const generators: readonly (() => Generated | readonly Generated[])[] = [
  chartFiles,
  crdFiles,
  eventDocs,
  eventCausesDoc,
  metricDocs,
  errorCodesDoc,
  resourceDocs,
  cliDocs,
  permissionsDoc,
  parityDoc,
];

const repository = join(dirname(fileURLToPath(import.meta.url)), '..');

/** Paths (relative to the repository) whose content differs from what the schemas say; with what should be there, or undefined. */
async function staleFiles(): Promise<Map<string, string | undefined>> {
  const stale = new Map<string, string | undefined>();
  for (const { folder, extension, files } of generators.flatMap((generate) => generate())) {
    for (const [name, text] of files) {
      const wanted = name.endsWith('.md') ? oneSentenceALine(text) : text;
      const path = join(repository, folder, name);
      if ((await textOf(path)) !== wanted) stale.set(path, wanted);
    }
    for (const name of await namesIn(join(repository, folder))) {
      if (name.endsWith(extension) && !files.has(name)) stale.set(join(repository, folder, name), undefined);
    }
  }
  return stale;
}

async function textOf(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(absent);
}

async function namesIn(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(absent)) ?? [];
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}

const checkOnly = process.argv.includes('--check');
const stale = await staleFiles();
for (const [path, wanted] of stale) {
  console.log(
    `${checkOnly ? 'stale' : wanted === undefined ? 'removed' : 'written'}: ${relative(repository, path)}`,
  );
  if (checkOnly) continue;
  if (wanted === undefined) await rm(path);
  else {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, wanted);
  }
}
if (checkOnly && stale.size > 0) {
  console.log('run `npm run generate` and commit what it writes');
  process.exitCode = 1;
}
