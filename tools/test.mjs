/*
 * `npm test`: types, lint, format, then all unit and integration tests; `npm run test:long` (`--long`): the tests of
 * `long-tests.mjs`, then a short soak and those on nodes. Everything runs even after a failure, output is passed on as it comes. A test file that failed runs once more by itself (`second-run.mjs`), and is told as unsteady when it
 * passes then. Rows of tests/parity whose tests did not all pass are failures too. The last line is `N passed, N failed`.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { countTests, failedTests } from './count-tests.mjs';
import { isLongTest } from './long-tests.mjs';
import { parityClaims } from './parity-claims.mjs';
import { filesToRunAgain, withSecondRun } from './second-run.mjs';
import { rowsNotShown } from './shown-rows.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const binaries = join(root, 'node_modules', '.bin');
const env = { ...process.env, PATH: `${binaries}${delimiter}${process.env.PATH ?? ''}` };

const checks = [
  { name: 'types', command: ['tsc', '--noEmit'] },
  { name: 'types of the page', command: ['tsc', '--noEmit', '-p', 'console/page'] },
  { name: 'lint', command: ['oxlint', '--deny-warnings'] },
  { name: 'format', command: ['oxfmt', '--check', '.'] },
];

const isLong = process.argv[2] === '--long';
// What people add (`npm test -- some-file`) chooses among all tests; the checks run with the short ones.
const chosen = process.argv.slice(isLong ? 3 : 2);
const own = isLong ? ['long'] : ['unit', 'integration'];
const projects = chosen.length > 0 ? ['unit', 'integration', 'long', 'soak'] : own;

const total = { passed: 0, failed: 0 };
/** @type {string[]} */
const failures = [];
const checked = isLong ? [] : checks;
const codes = await Promise.all(checked.map(({ name, command }) => run(name, command)));
for (const [at, { name }] of checked.entries()) {
  if (codes[at] === 0) total.passed++;
  else failures.push(name);
}

let tests = await runTests('tests', projects, chosen);
// One after the other: a soak and nodes need the machine for themselves.
if (isLong && chosen.length === 0)
  for (const project of ['soak', 'nodes']) {
    projects.push(project);
    tests = together(tests, await runTests(project, [project], []));
  }
const first = tests;
const again = chosen.length === 0 ? filesToRunAgain(first) : [];
/** @type {string[]} */
let unsteady = [];
if (again.length > 0)
  ({ run: tests, unsteady } = withSecondRun(
    first,
    await runTests('what failed, by itself', projects, ['--maxWorkers=1', ...again]),
  ));
const counted = countTests(tests.report, tests.exitCode);
total.passed += counted.passed;
total.failed = failures.length + counted.failed;
const failed = failedTests(tests.report, (path) => relative(root, path));
failures.push(...(failed.length === 0 && counted.failed > 0 ? ['outside of every test'] : failed));

for (const file of unsteady) {
  const results = (first.report?.testResults ?? []).filter(({ name }) => name === file);
  const lines = failedTests({ testResults: results }, (path) => relative(root, path));
  const shown = lines.length > 0 ? lines : [`${relative(root, file)} > outside of every test`];
  for (const line of shown) console.log(`\nunsteady: passed when it ran again by itself: ${line}`);
}
if (chosen.length === 0) {
  const claims = parityClaims().filter(
    ({ file }) => isLong === (isLongTest(file) || file.startsWith('tests/nodes/')),
  );
  const lines = rowsNotShown(claims, tests.report, (path) => relative(root, path));
  total.failed += lines.length;
  failures.push(...lines);
}
if (failures.length > 0) console.log(`\n${failures.map((name) => `failed: ${name}`).join('\n')}`);
console.log(`\n${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed === 0 ? 0 : 1;

/**
 * @param {import('./second-run.mjs').TestRun} one
 * @param {import('./second-run.mjs').TestRun} other
 * @returns {import('./second-run.mjs').TestRun} of all files of both
 */
function together(one, other) {
  const results = [one, other].flatMap(({ report }) => report?.testResults ?? []);
  return {
    report: one.report && other.report && { testResults: results },
    unhandled: [...one.unhandled, ...other.unhandled],
    exitCode: one.exitCode || other.exitCode,
  };
}

/**
 * @param {string} name
 * @param {readonly string[]} among - projects of vitest
 * @param {readonly string[]} args - files and options of vitest
 * @returns {Promise<import('./second-run.mjs').TestRun>}
 */
async function runTests(name, among, args) {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-test-'));
  try {
    const report = join(folder, 'report.json');
    const unhandled = join(folder, 'unhandled.json');
    const reporters = [
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
      '--reporter=./tools/unhandled-files.mjs',
      '--reporter=./tools/time-limit.mjs',
    ];
    const more = { ROLLCALL_UNHANDLED_FILES: unhandled };
    const exitCode = await run(
      name,
      ['vitest', 'run', ...among.map((project) => `--project=${project}`), ...reporters, ...args],
      more,
    );
    return { report: readJson(report), unhandled: readJson(unhandled) ?? [], exitCode };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param {string} name
 * @param {readonly string[]} command
 * @param {Readonly<Record<string, string>>} [more] - environment
 * @returns {Promise<number>} exit code; 1 when it was ended by a signal or could not be started
 */
function run(name, [command = '', ...args], more = {}) {
  console.log(`\n── ${name}: ${command} ${args.slice(0, 4).join(' ')}`);
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: root,
      env: { ...env, ...more },
      stdio: 'inherit',
      shell: process.platform === 'win32',
    });
    child.once('error', (error) => {
      console.error(`cannot run ${command}: ${error.message}`);
      resolve(1);
    });
    child.once('close', (code) => resolve(code ?? 1));
  });
}

/**
 * @param {string} file
 * @returns {any} undefined when vitest wrote none
 */
function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
