import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli } from '../../cli/tests/run-cli.ts';
import { readDocument, shellBlocks } from '../docs/markdown.ts';
import { startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';
import { goProgram, hasGo } from '../harness/go-programs.ts';

/** What people are told to type, with the real nats command and the context that they get. */
const lines = shellBlocks(readDocument('docs/watching.md'))
  .flatMap(({ script }) => script.split('\n'))
  .filter((line) => line.startsWith('nats '));
const listening = lines.filter((line) => line.includes(' sub '));

const config = mkdtempSync(join(tmpdir(), 'rollcall-nats-command-'));
let hub: TestEmbeddedHub;
let program: string;
beforeAll(async () => {
  if (!hasGo()) return;
  [hub, program] = await Promise.all([
    startTestEmbeddedHub(),
    goProgram('nats', 'nats', 'github.com/nats-io/natscli/nats'),
  ]);
  const environment = { ROLLCALL_HOME: hub.up.stateDir, XDG_CONFIG_HOME: config };
  const { code, stderr } = await runCli(['context', 'export'], { environment });
  if (code !== 0) throw new Error(stderr);
});
afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  rmSync(config, { recursive: true, force: true });
});

/** As a person's shell would run it. */
function start(line: string) {
  const env = { PATH: process.env['PATH'], HOME: config, XDG_CONFIG_HOME: config };
  const child = spawn('sh', ['-c', `exec "${program}"${line.slice('nats'.length)}`], { env });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (output += text));
  const ended = new Promise<number | null>((resolve) => void child.once('close', resolve));
  return { child, ended, output: () => output };
}

test.skipIf(!hasGo())('each line of the page that listens hears what it says', async () => {
  const heard = ['cluster.one.requested', 'cluster.one.approved', 'cluster.one.approved', 'live.one'];
  expect(listening).toHaveLength(heard.length);
  const all = listening.map(start);
  try {
    for (const { output } of all) await until('it listens', async () => output().includes('Subscribing on'));
    const { text: token } = await hub.createToken();
    await hub.startAgent({ name: 'one', token });
    for (const [at, { output }] of all.entries())
      await until(`${listening[at]}: ${heard[at]}`, async () =>
        output().includes(`rollcall.${words(heard[at])}`),
      );
  } finally {
    for (const { child } of all) child.kill('SIGKILL');
  }
});

const words = (heard = '') => (heard.startsWith('live') ? heard : `stored.${heard}`);

test.skipIf(!hasGo()).each(
  [
    { has: 'micro ls', says: /registrar +│[^\n]*takes what agents ask/ },
    { has: 'stream info EVENTS', says: /Subjects: rollcall\.events\.>/ },
    { has: 'stream state DEAD', says: /Messages: 0/ },
    { has: 'rollcall.events.policy.>', says: /"rules":\[.*token\.valid/ },
    { has: '"batch":100', says: /"requestId".*"approvedKey"/s },
    { has: '$SRV.STATS.heartbeat', says: /"clusters"/ },
  ].map(({ has, says }) => ({ line: lines.find((line) => line.includes(has)) ?? has, says })),
)('$line', async ({ line, says }) => {
  const { ended, output } = start(line);
  const code = await ended;
  expect({ code, output: output() }).toEqual({ code: 0, output: expect.stringMatching(says) });
});

test('every line of the page is one of those above', () => {
  expect(lines.length - listening.length).toBe(6);
});
