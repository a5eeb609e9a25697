import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseScenario, readScenario } from './scenario-file.ts';

const head = 'description: x\nend: 60s\n';

/** `line:column message` of every mistake. */
function problemsOf(text: string): string[] {
  const found = parseScenario(text);
  if ('scenario' in found) return [];
  return found.problems.map(({ line, column, message }) => `${line}:${column} ${message}`);
}

test.each([
  { name: 'nothing', text: '', want: [/^1:1 .*expected object/] },
  { name: 'no YAML', text: 'steps: [', want: [/^1:9 /] },
  {
    name: 'a field that does not exist, and one that is missing',
    text: 'description: x\nende: 60s\nsteps: []\n',
    want: [/^1:1 end: expected a duration, for example 30s$/, /^2:1 there is no field "ende" here$/],
  },
  {
    name: 'a step that does not exist',
    text: `${head}steps:\n  - { at: 5s, do: outag, for: 20s }\n`,
    want: [/^4:19 do: .*'outage' \| 'silence' \| 'restart' \| 'flap' \| 'grow' \| 'leave' \| 'churn'/],
  },
  {
    name: 'a field of another step',
    text: `${head}steps:\n  - at: 5s\n    do: outage\n    for: 20s\n    every: 3s\n`,
    want: [/^7:5 there is no field "every" here$/],
  },
  {
    name: 'a duration and a share that are none',
    text: `${head}steps:\n  - { at: soon, do: outage, for: 20, share: 120% }\n`,
    want: [
      /^4:11 at: "soon" is no duration; write for example 15s/,
      /^4:34 for: expected a duration, for example 30s$/,
      /^4:45 share: "120%" is no share; write for example 40%$/,
    ],
  },
  {
    name: 'groups that are not the whole fleet',
    text: `${head}groups: { a: 40%, b: 50% }\nsteps: []\n`,
    want: [/^3:9 groups: the shares are 90% together, expected 100%$/],
  },
  {
    name: 'a group that does not exist, and a step after the end',
    text: `${head}groups: { a: 40%, b: 60% }\nsteps:\n  - { at: 90s, do: outage, group: c, for: 20s }\n`,
    want: [/^5:11 at: it begins after the end/, /^5:35 group: there is no group "c": expected one of a, b$/],
  },
  {
    name: 'silent for longer than the time between',
    text: `${head}steps:\n  - { at: 1s, do: flap, times: 2, every: 5s, for: 5s }\n`,
    want: [/^4:51 for: expected less than `every`$/],
  },
  {
    name: 'a grace that is over before the next heartbeat',
    text: `${head}heartbeat: { interval: 10s, grace: 5s }\nsteps: []\n`,
    want: [/^3:36 grace: expected at least the interval$/],
  },
  { name: 'deeper than the parser is let', text: '['.repeat(100), want: [/^1:1 it nests deeper/] },
])('a bad scenario: $name', ({ text, want }) => {
  const problems = problemsOf(text);
  expect(problems).toHaveLength(want.length);
  for (const [index, pattern] of want.entries()) expect(problems[index]).toMatch(pattern);
});

test('aliases that multiply are refused', () => {
  const lines = Array.from({ length: 9 }, (_, n) => `a${n + 1}: &a${n + 1} [${`*a${n},`.repeat(9)}]`);
  expect(problemsOf(['a0: &a0 [x]', ...lines].join('\n'))).toEqual([expect.stringContaining('alias')]);
});

test('a file that is not there, and one that is bad, say where', () => {
  expect(() => readScenario('/nowhere.yaml')).toThrow('cannot read "/nowhere.yaml"');
  const itself = import.meta.filename;
  expect(() => readScenario(itself)).toThrow(new RegExp(`${itself.replaceAll('.', '\\.')}:\\d+:\\d+: `));
});

const shipped = join(import.meta.dirname, '..', '..', 'docs', 'scenarios');
test.each(readdirSync(shipped))('docs/scenarios/%s is good', (name) => {
  expect(readScenario(join(shipped, name)).description).not.toBe('');
});
