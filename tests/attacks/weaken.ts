import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isLongTest } from '../../tools/long-tests.mjs';
import { type Weakness, weaknesses } from './weaknesses.ts';

/**
 * `npm run attacks:weaken [GROUP …]`: shows of each group of attacks that it can fail. In a copy of this checkout one line of
 * the product is changed and one test is run, before (green) and after (red). The checkout itself is never touched.
 */
const checkout = join(import.meta.dirname, '..', '..');
const perTestMs = 60_000;
const perRunMs = 240_000;
/** What a copy does not need; `node_modules` is linked. */
const left = new Set(['node_modules', '.git', 'dist', '.rollcall', 'coverage']);

/** Its packages are those of the checkout; ours among them are those of the copy. */
function linkModules(copy: string): void {
  const [from, to] = [join(checkout, 'node_modules'), join(copy, 'node_modules')];
  mkdirSync(join(to, '@rollcall'), { recursive: true });
  for (const name of readdirSync(from))
    if (name !== '@rollcall') symlinkSync(join(from, name), join(to, name));
  cpSync(join(from, '@rollcall'), join(to, '@rollcall'), { recursive: true, verbatimSymlinks: true });
}

function copyCheckout(): string {
  const copy = mkdtempSync(join(tmpdir(), 'rollcall-weakened-'));
  for (const name of readdirSync(checkout))
    if (!left.has(name)) cpSync(join(checkout, name), join(copy, name), { recursive: true });
  linkModules(copy);
  return copy;
}

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly failureMessages?: readonly string[] }[];
  }[];
}

function endGroup(id: number | undefined): void {
  if (id === undefined) return;
  try {
    process.kill(-id, 'SIGKILL');
  } catch {
    // Everything has ended already.
  }
}

async function run(copy: string, { folder, group, test }: Weakness): Promise<Report> {
  const reportFile = join(copy, 'report.json');
  rmSync(reportFile, { force: true });
  const only = `^${test.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}`;
  // Tests of pure code lie beside it.
  const onServers = isLongTest(`${folder}/${group}.test.ts`) ? 'long' : 'integration';
  const project = folder.split('/').includes('tests') ? onServers : 'unit';
  const args = ['run', '--project', project, `${folder}/${group}.test.ts`, '-t', only];
  // A weakened product may do what the test waits for to be refused, and go on for ever.
  const bound = ['--testTimeout', String(perTestMs)];
  const reporter = ['--reporter', 'json', '--outputFile', reportFile];
  const vitest = join(copy, 'node_modules', 'vitest', 'vitest.mjs');
  const argv = [vitest, ...args, ...bound, ...reporter];
  // A group of its own: what a test that hangs has started ends with it.
  const child = spawn(process.execPath, argv, { cwd: copy, stdio: 'ignore', detached: true });
  const timer = setTimeout(() => child.kill(), perRunMs);
  await once(child, 'exit');
  clearTimeout(timer);
  endGroup(child.pid);
  return JSON.parse(readFileSync(reportFile, 'utf8')) as Report;
}

function firstFailure({ testResults }: Report): string {
  const messages = testResults.flatMap(({ assertionResults }) =>
    assertionResults.flatMap((one) => one.failureMessages ?? []),
  );
  return (messages[0] ?? '').split('\n')[0]?.slice(0, 140) ?? '';
}

/** @returns what is printed about it, and whether it is as it should be */
async function tryWeakness(copy: string, weakness: Weakness): Promise<{ line: string; isRed: boolean }> {
  const { group, file, from, to } = weakness;
  const path = join(copy, file);
  const strong = readFileSync(path, 'utf8');
  const what = `${group.padEnd(24)} ${file}`;
  const before = await run(copy, weakness);
  if (before.numFailedTests > 0 || before.numPassedTests === 0)
    return { line: `${what}\n  not green before: ${firstFailure(before)}`, isRed: false };
  writeFileSync(
    path,
    strong.replace(from, () => to),
  );
  try {
    const after = await run(copy, weakness);
    const isRed = after.numFailedTests > 0;
    const why = isRed ? `  ${firstFailure(after)}` : `  without "${from}"`;
    return { line: `${what}\n  turned red: ${isRed ? 'yes' : 'NO'}${why}`, isRed };
  } finally {
    writeFileSync(path, strong);
  }
}

const wanted = process.argv.slice(2);
const chosen = weaknesses.filter(({ group }) => wanted.length === 0 || wanted.includes(group));
if (chosen.length === 0)
  throw new Error(`no such group; there are ${weaknesses.map(({ group }) => group).join(', ')}`);
const copy = copyCheckout();
try {
  let red = 0;
  for (const weakness of chosen) {
    const { line, isRed } = await tryWeakness(copy, weakness).catch((error: unknown) => ({
      line: `${weakness.group}\n  not tried: ${String(error)}`,
      isRed: false,
    }));
    process.stdout.write(`${line}\n`);
    if (isRed) red++;
  }
  process.stdout.write(`${red} of ${chosen.length} turned red\n`);
  process.exitCode = red === chosen.length ? 0 : 1;
} finally {
  rmSync(copy, { recursive: true, force: true });
}
