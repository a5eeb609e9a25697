import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clusterRecord } from '@rollcall/shared/events';
import { afterAll, expect, test } from 'vitest';
import { runCli } from '../../cli/tests/run-cli.ts';
import { startTestEmbeddedHub, type TestAgent, type TestEmbeddedHub, until } from '../harness/embedded.ts';

/** A backup that is made while clusters join, and a hub that is made of it after everything else was lost. */
const base = mkdtempSync(join(tmpdir(), 'rollcall-joining-'));
const stateDir = join(base, 'state');
const memberKept = join(base, 'member');
const backupFile = join(base, 'hub.backup');
const passphraseFile = join(base, 'passphrase');
const options = { directory: base, environment: { ROLLCALL_HOME: stateDir } };
/** Holds the agents, which run on through all of it. */
let first: TestEmbeddedHub | undefined;
let hub: TestEmbeddedHub | undefined;
afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  await first?.[Symbol.asyncDispose]();
  rmSync(base, { recursive: true, force: true });
});

const cli = (...args: string[]) => runCli(args, options);
const recordOf = async (of: TestEmbeddedHub, id: string) =>
  clusterRecord(await of.log.read({ kind: 'cluster', id }));
/** The API server of the members is the hub's own here: it keeps its certificates and its port. */
function copyMember(from: string, to: string): void {
  for (const name of ['pki', 'ports.json']) cpSync(join(from, name), join(to, name), { recursive: true });
}

test('all that was acknowledged before is in it; whoever joined meanwhile comes back, or waits for a person', async () => {
  writeFileSync(passphraseFile, 'a passphrase of some length\n');
  first = await startTestEmbeddedHub({ stateDir });
  const { text: token } = await first.createToken({ uses: 'unlimited' });
  const agents = new Map<string, TestAgent>();
  const register = async (name: string) => {
    const agent = await first?.startAgent({ name, token });
    if (agent) agents.set(name, agent);
  };
  const before = ['before-0', 'before-1', 'before-2'];
  await Promise.all(before.map(register));
  for (const name of before) await first.untilReady(name);

  const written = new AbortController();
  const writing = cli('backup', backupFile, '--passphrase-file', passphraseFile).finally(() =>
    written.abort(),
  );
  const meanwhile: string[] = [];
  // Two at a time for as long as it is written: some are in, some are not, some are in the middle.
  const keepJoining = async () => {
    while (!written.signal.aborted && meanwhile.length < 30) {
      const name = `meanwhile-${meanwhile.length}`;
      meanwhile.push(name);
      await register(name);
      await first?.untilReady(name);
    }
  };
  await Promise.all([keepJoining(), keepJoining()]);
  expect((await writing).code).toBe(0);
  expect(meanwhile.length).toBeGreaterThan(0);

  copyMember(`${stateDir}/kubernetes`, memberKept);
  await first.up.stop();
  rmSync(stateDir, { recursive: true });
  const made = await cli('restore', backupFile, '--passphrase-file', passphraseFile);
  expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining('epoch 2 begins') });
  copyMember(memberKept, `${stateDir}/kubernetes`);
  hub = await startTestEmbeddedHub({ stateDir });
  const restored = hub;

  for (const name of before) {
    expect((await recordOf(restored, name)).identity?.admittedKey, name).toBeDefined();
    await restored.untilReady(name);
  }
  const states = { back: 0, held: 0 };
  for (const name of meanwhile) {
    // A new process tells its facts; one that runs on looks within ten minutes.
    const { agent, directory } = agents.get(name) as TestAgent;
    await agent.stop();
    await first.startAgent({ name, directory });
    const request = await until(`${name} is back, or held`, async () => {
      const found = await restored.request(name);
      const result = found?.status?.result;
      return (result === 'Approved' || result === 'Held') && found;
    });
    const isHeld = request.status?.result === 'Held';
    states[isHeld ? 'held' : 'back']++;
    const reasons = isHeld ? ['RegisteredAfterBackup', 'NoRuleMatched'] : ['PolicyApproved'];
    expect(reasons).toContain(request.status?.reason);
    const approving = isHeld && cli('approve', name, '--kubeconfig', restored.up.plane.adminKubeconfigPath);
    const { code, stderr } = (await approving) || { code: 0, stderr: '' };
    expect(code, stderr).toBe(0);
    await restored.untilReady(name);
  }
  console.info(
    `joined while the backup was written: ${states.back} came back, ${states.held} waited for a person`,
  );
  await until('it is what the events say', async () => (await cli('verify')).code === 0);
});
