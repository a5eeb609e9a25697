import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findBinary } from '../../cli/up/binaries.ts';
import { type ControlPlane, startControlPlane } from '../../cli/up/control-plane.ts';
import { loopbackPorts } from '../../cli/up/control-plane-ports.ts';
import { documents, readDocument, repository, shellBlocks } from './markdown.ts';
import { type RunningShell, runShell, startShell } from './shell.ts';

/**
 * Runs the README as a reader would: each block in order, in one directory, with a second cluster beside. What a block must
 * print stands here, by its first command; a block that is new in the README fails until it stands here too.
 */
interface Expectation {
  /** Every one must be in the output. */
  readonly prints: readonly RegExp[];
  /** Goes on until Ctrl-C; the next block begins when all of it has been printed. */
  readonly staysRunning?: boolean;
  /** What it must have printed after the blocks that follow. */
  readonly printsLater?: readonly RegExp[];
}

const expected: Readonly<Record<string, Expectation>> = {
  'npm start': { prints: [/local +True +True/, /Ctrl-C stops it/], staysRunning: true },
  'export PATH="$PWD/node_modules/.bin:$PATH"': { prints: [/local +True +True/, /local +Approved/] },
  'rollcall token create --print-register-command --description "first site" > join.sh': {
    prints: [/rollcall-join +token-\S+ +1 +0 /],
  },
  'KUBECONFIG=edge.kubeconfig sh join.sh': {
    prints: [/\[approve\] admitted as "edge"/, /cluster "edge" is Ready/],
    staysRunning: true,
  },
  'rollcall events --cluster edge': { prints: [/cluster\.requested/, /by policy default\/valid-token/] },
  'rollcall events --follow': {
    prints: [],
    staysRunning: true,
    printsLater: [/cluster\.held +site-7/, /by rollcall-admin, PersonDenied/, /live /],
  },
  "kubectl --kubeconfig .rollcall/kubeconfig apply -f - <<'EOF'": { prints: [/sites created/] },
  "rollcall token create --print-register-command --cluster-name 'site-*' > site.sh": {
    prints: [/waiting \(PolicyHeld\): .*NewSite/, /rollcall approve site-7/],
    staysRunning: true,
  },
  'kubectl --kubeconfig .rollcall/kubeconfig get clusterregistrationrequests.rollcall.dev': {
    prints: [/site-7 +site-7 +Held +PolicyHeld/, /managedclusters\/accept/],
  },
  [`kubectl --kubeconfig .rollcall/kubeconfig patch clusterregistrationrequests.rollcall.dev site-7 --type=merge -p '{"spec":{"decision":{"verdict":"Approve"}}}'`]:
    { prints: [/site-7 patched/, /condition met/] },
  'rollcall deny site-7 --reason "the site is closed"': {
    prints: [/"site-7" is denied.*the site is closed/, /"site-7" is approved.*open again/],
  },
  'kubectl --kubeconfig .rollcall/kubeconfig describe managedclusters.rollcall.dev edge': {
    prints: [/MemberHealthy/, /SAMPLE-NODE/, /"type":"dev\.rollcall\.cluster\.denied\.v1"/],
  },
  'rollcall down --wipe': { prints: [/stopping the hub of process \d+/, /is gone/] },
  'rollcall serve registrar --help': { prints: [/--bus-servers/, /ROLLCALL_BUS_SERVERS/] },
};

/** What no test can run, or what would run this test. */
const notRun: Readonly<Record<string, string>> = {
  'npm test': 'this test is part of it',
  'docker compose up': 'needs Docker',
  'npm run bench': 'takes minutes',
};

const firstLine = (script: string) => script.split('\n', 1)[0] ?? '';
const blocks = shellBlocks(readDocument('README.md'));
const toRun = blocks.filter((block) => block.notRun === undefined);

let directory: string;
let member: ControlPlane;
let port: number;
let env: NodeJS.ProcessEnv;
const running: { shell: RunningShell; printsLater: readonly RegExp[] }[] = [];

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'rollcall-readme-'));
  // A reader stands in the clone; `npm start` runs there, the rest where its state is.
  symlinkSync(join(repository, 'node_modules'), join(directory, 'node_modules'));
  ({ nats: port = 0 } = await loopbackPorts(join(directory, 'free-port.json'), ['nats'], {}));
  member = await startControlPlane({
    stateDir: join(directory, 'member'),
    withControllerManager: false,
    clusterName: 'edge',
    auditPolicy: 'none',
  });
  await copyFile(member.adminKubeconfigPath, join(directory, 'edge.kubeconfig'));
  const { KUBECONFIG: _other, ROLLCALL_HOME: _home, ROLLCALL_TOKEN: _token, ...rest } = process.env;
  env = { ...rest, PATH: `${dirname(findBinary('kubectl'))}${delimiter}${process.env['PATH'] ?? ''}` };
});

afterAll(async () => {
  for (const { shell } of running.toReversed()) await shell.interrupt();
  await member.stop();
  rmSync(directory, { recursive: true, force: true });
});

function start(script: string): RunningShell {
  // Each block is a shell of its own here; what a person exports stays.
  const exports = toRun
    .flatMap((block) => block.script.split('\n'))
    .filter((line) => line.startsWith('export '));
  if (script === 'npm start') {
    const home = { ROLLCALL_HOME: join(directory, '.rollcall') };
    return startShell(`npm start -- --port ${port}`, { cwd: repository, env: { ...env, ...home } });
  }
  return startShell([...exports, script].join('\n'), { cwd: directory, env });
}

test('every block of the README is expected here, and nothing else is', () => {
  expect(toRun.map(({ script }) => firstLine(script)).toSorted()).toEqual(Object.keys(expected).toSorted());
  const left = blocks.flatMap(({ script, notRun: why }) =>
    why === undefined ? [] : [[firstLine(script), why]],
  );
  expect(Object.fromEntries(left)).toEqual(notRun);
});

test('no other document has commands that nobody runs', () => {
  const others = documents().filter((path) => path !== 'README.md');
  expect(others.filter((path) => shellBlocks(readDocument(path)).length > 0)).toEqual([]);
});

const named = toRun.map(({ script }) => ({ command: firstLine(script), script }));
test.each(named)('$command', async ({ command, script }) => {
  const { prints, staysRunning = false, printsLater = [] }: Expectation = expected[command] ?? { prints: [] };
  const shell = start(script);
  if (staysRunning) {
    running.push({ shell, printsLater });
    for (const pattern of prints) await shell.untilPrinted(pattern);
    return;
  }
  const code = await shell.ended;
  expect(code, shell.output()).toBe(0);
  for (const pattern of prints) expect(shell.output()).toMatch(pattern);
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
  const { output } = await runShell(`pgrep -f ${directory}/.rollcall || true`, { cwd: repository, env });
  // pgrep's own shell has the directory in its command line too.
  expect(output.trim().split('\n').length).toBeLessThanOrEqual(1);
});
