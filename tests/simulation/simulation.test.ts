import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mutants, type MutantName } from './mutants.ts';

const main = join(import.meta.dirname, 'main.ts');

/** In a process of its own: clock, timers and random numbers of a simulation are not those of the tests. */
async function simulate(...args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'ignore'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const { promise, resolve } = Promise.withResolvers<number | null>();
  child.on('close', resolve);
  return { code: await promise, output };
}

/** What a failure shows: the end of its history, and how to replay it. */
const lastLines = (output: string) => output.trimEnd().split('\n').slice(-40).join('\n');

test('300 seeds in each mode hold, and every kind of fault has struck', async () => {
  const { code, output } = await simulate('--seeds', '600', '--jobs', '1');
  expect(code, lastLines(output)).toBe(0);
});

test('seeds that nobody has seen hold', async () => {
  const { code, output } = await simulate(
    '--seeds',
    '50',
    '--from',
    String(randomInt(1_000_000, 1_000_000_000)),
  );
  expect(code, lastLines(output)).toBe(0);
});

test('a seed gives the same history every time', async () => {
  const [first, second] = await Promise.all([
    simulate('--seed', '12', '--print'),
    simulate('--seed', '12', '--print'),
  ]);
  const history = ({ output }: { output: string }) => output.split('\n').filter((line) => /^ +\d/.test(line));
  expect(history(first).length).toBeGreaterThan(20);
  expect(history(second)).toEqual(history(first));
});

test.each(Object.keys(mutants) as MutantName[])('it notices that a defence is gone: %s', async (name) => {
  const { from, seeds } = mutants[name];
  const { code, output } = await simulate('--mutant', name, '--from', String(from), '--seeds', String(seeds));
  expect(code, lastLines(output)).toBe(1);
  expect(output).toMatch(/breaks: /);
});
