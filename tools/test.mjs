/*
 * `npm test`: types, lint, format, then all unit and integration tests. Everything runs even after a failure, output
 * is passed on as it comes, and the last line is `N passed, N failed`.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { countTests } from './count-tests.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const binaries = join(root, 'node_modules', '.bin');
const env = { ...process.env, PATH: `${binaries}${delimiter}${process.env.PATH ?? ''}` };

const checks = [
  { name: 'types', command: ['tsc', '--noEmit'] },
  { name: 'lint', command: ['oxlint', '--deny-warnings'] },
  { name: 'format', command: ['oxfmt', '--check', '.'] },
];

const total = { passed: 0, failed: 0 };
for (const { name, command } of checks) {
  const code = await run(name, command);
  if (code === 0) total.passed++;
  else total.failed++;
}

const folder = mkdtempSync(join(tmpdir(), 'rollcall-test-'));
try {
  const report = join(folder, 'report.json');
  const projects = ['--project', 'unit', '--project', 'integration'];
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  // What people add (`npm test -- some-file`) chooses among the tests; the checks always run.
  const command = ['vitest', 'run', ...projects, ...reporters, ...process.argv.slice(2)];
  const code = await run('tests', command);
  const tests = countTests(readReport(report), code);
  total.passed += tests.passed;
  total.failed += tests.failed;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`\n${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed === 0 ? 0 : 1;

/**
 * @param {string} name
 * @param {readonly string[]} command
 * @returns {Promise<number>} exit code; 1 when it was ended by a signal or could not be started
 */
function run(name, [command = '', ...args]) {
  console.log(`\n── ${name}: ${command} ${args.slice(0, 4).join(' ')}`);
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: root,
      env,
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
 * @returns {import('./count-tests.mjs').TestReport | undefined} undefined when vitest wrote none
 */
function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
