import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ControlPlane, startControlPlane } from '../../cli/up/control-plane/control-plane.ts';
import { readDocument, shellBlocks } from './markdown.ts';
import { type Expectation, firstLine, follow, notRunBlocks, type Reader, startReader } from './reader.ts';
import type { RunningShell } from './shell.ts';

/**
 * Runs the README as a reader would: each block in order, in one directory, with a second cluster beside. What a block must
 * print stands here, by its first command; a block that is new in the README fails until it stands here too.
 */
const expected: Readonly<Record<string, Expectation>> = {
  'npm start': {
    prints: [/local +True +True/, /http:\/\/127\.0\.0\.1:\d+\/open\?key=/, /Ctrl-C stops it/],
    staysRunning: true,
  },
  'export PATH="$PWD/node_modules/.bin:$PATH"': {
    prints: [/local +True +True[^]*local +True +True/],
  },
  'rollcall token create --cluster-name edge --print-register-command --description "first site" > join.sh': {
    prints: [/\[approve\] admitted as "edge"/, /cluster "edge" is Ready/],
    staysRunning: true,
  },
  'rollcall events --follow': {
    prints: [],
    staysRunning: true,
    printsLater: [/by policy default\/valid-token/, /by rollcall-admin, PersonDenied/, /live /],
  },
  'rollcall deny edge --reason "the site is closed"': {
    prints: [
      /"edge" is denied.*the site is closed/,
      /"edge" is approved.*open again/,
      /cluster\.requested +edge/,
      /by policy default\/valid-token/,
      /by rollcall-admin, PersonDenied/,
      /by rollcall-admin, PersonApproved/,
    ],
  },
  'rollcall down --wipe': { prints: [/stopping the hub of process \d+/, /is gone/] },
};

/** What would run this test. */
const notRun: Readonly<Record<string, string>> = {
  'npm test': 'this test is part of it',
};

const blocks = shellBlocks(readDocument('README.md'));
const toRun = blocks.filter((block) => block.notRun === undefined);
const exports = toRun
  .flatMap(({ script }) => script.split('\n'))
  .filter((line) => line.startsWith('export '));

let reader: Reader;
let member: ControlPlane;
const running: { shell: RunningShell; printsLater: readonly RegExp[] }[] = [];

beforeAll(async () => {
  reader = await startReader('readme');
  member = await startControlPlane({
    stateDir: join(reader.directory, 'member'),
    withControllerManager: false,
    clusterName: 'edge',
    auditPolicy: 'none',
  });
  await copyFile(member.adminKubeconfigPath, join(reader.directory, 'edge.kubeconfig'));
});

afterAll(async () => {
  for (const { shell } of running.toReversed()) await shell.interrupt();
  await member.stop();
  await reader[Symbol.asyncDispose]();
});

test('every block of the README is expected here, and nothing else is', () => {
  expect(toRun.map(({ script }) => firstLine(script)).toSorted()).toEqual(Object.keys(expected).toSorted());
  expect(notRunBlocks(blocks)).toEqual(notRun);
});

const named = toRun.map(({ script }) => ({ command: firstLine(script), script }));
test.each(named)('$command', async ({ command, script }) => {
  const expectation: Expectation = expected[command] ?? { prints: [] };
  const followed = await follow(reader.start(script, exports), expectation);
  expect(followed.problem).toBeUndefined();
  if (followed.running) running.push({ shell: followed.running, printsLater: expectation.printsLater ?? [] });
});

test('what follows events has shown them', async () => {
  for (const { shell, printsLater } of running) {
    for (const pattern of printsLater) {
      await shell.untilPrinted(pattern);
      expect(shell.output()).toMatch(pattern);
    }
  }
});

test('Ctrl-C and `down` leave no process behind', async () => {
  for (const { shell } of running.toReversed()) await shell.interrupt();
  expect((await reader.leftOver()).length).toBeLessThanOrEqual(1);
});
