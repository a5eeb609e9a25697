import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EventLog } from '@rollcall/shared/bus';
import {
  approved,
  type Decision,
  decisionSchema,
  draft,
  type EventDefinition,
  held,
} from '@rollcall/shared/events';
import { parse } from 'yaml';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { declarePolicy, requestAs } from '../../tests/harness/events.ts';
import { startTestHub, type TestHub } from '../../tests/harness/test-hub.ts';
import { runCli, startCli, withoutProgress } from './run-cli.ts';

let hub: TestHub;
let busFlags: string[];
let approver: EventLog;
let registrar: EventLog;
const folder = mkdtempSync(join(tmpdir(), 'rollcall-policy-'));

function policyYaml(name: string, when: string, effect = 'Approve'): string {
  const rules = `[{name: r, when: '${when}', effect: ${effect}}]`;
  return `apiVersion: rollcall.dev/v1alpha1\nkind: ApprovalPolicy\nmetadata: {name: ${name}}\nspec: {rules: ${rules}}\n`;
}

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const declare = (name: string, generation: number, when: string) =>
  declarePolicy(approver, { name, generation, when });
const asks = (id: string) => requestAs(registrar, id, Date.now());

async function decide(id: string, definition: EventDefinition, more: Partial<Decision> = {}): Promise<void> {
  const by = { policy: 'default', generation: 1, rule: 'r' };
  const what = { by, reason: definition === held ? 'NoRuleMatched' : 'PolicyApproved', message: 'm' };
  const section = decisionSchema.parse({
    verdict: definition.type,
    requestId: `R-${id}`,
    key: `K-${id}`,
    ...(definition === approved ? { approvedKey: `K-${id}` } : {}),
    clusterName: id,
    namespace: id,
    heartbeat: { intervalSeconds: 15, graceSeconds: 45 },
    decidedAtMs: Date.now(),
    ...what,
    ...more,
  });
  const record = await approver.read({ kind: 'cluster', id });
  await approver.append([draft(definition, record, { ...what, by: section.by, section })], {
    correlation: id,
  });
}

/** Two that the policy let in, one that it held and that a person let in later, and a policy that was changed since. */
beforeAll(async () => {
  hub = await startTestHub();
  const caFile = join(hub.stateDir, 'ca.pem');
  writeFileSync(caFile, hub.address.caPem);
  const creds = join(hub.stateDir, 'inspector.creds');
  busFlags = ['--server', `127.0.0.1:${hub.port}`, '--ca-file', caFile, '--creds', creds];
  [approver, registrar] = await Promise.all([hub.openLog('approver'), hub.openLog('registrar')]);
  await declare('default', 1, 'request.clusterName.startsWith("edge-") || verified.keyChanged');
  for (const id of ['edge-1', 'edge-2']) {
    await asks(id);
    await decide(id, approved);
  }
  await asks('core');
  await decide('core', held);
  await decide('core', approved, { by: { person: 'anna' }, reason: 'PersonApproved' });
  await declare('default', 2, 'request.clusterName == "core" && fleet.clusters >= 0');
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await hub?.[Symbol.asyncDispose]();
});

test('check: a good file is good, and needs no hub', async () => {
  const path = file('good.yaml', `${policyYaml('a', 'token.valid')}---\n${policyYaml('b', 'true', 'Hold')}`);
  const { code, stdout, stderr } = await runCli(['policy', 'check', path]);
  expect({ code, stdout, stderr: withoutProgress(stderr) }).toEqual({
    code: 0,
    stdout: `${path}: policies 2, rules 2: good\n`,
    stderr: '',
  });
});

test('check: mistakes stand with place and caret, and end with 1', async () => {
  const path = file('bad.yaml', policyYaml('a', 'token.valid && token.color'));
  const { code, stdout, stderr } = await runCli(['policy', 'check', path]);
  expect(stderr).toContain(`${path}:4:54: error: rule "r": token has no field "color"`);
  expect(stderr).toMatch(/\n {4}spec: .*\n {4} {53}\^\nerror: ".*" has 1 mistake\nhint: /);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
});

test('check: for programs, one document with every finding, and the same exit code', async () => {
  const bad = file('bad.yaml', policyYaml('a', 'token.valid && token.color'));
  const good = file('good.yaml', policyYaml('a', 'token.valid'));
  const { code, stdout } = await runCli(['policy', 'check', '-o', 'json', good, bad]);
  expect(JSON.parse(stdout)).toEqual([
    { file: good, good: true, findings: [] },
    {
      file: bad,
      good: false,
      findings: [expect.objectContaining({ severity: 'error', line: 4, column: 54 })],
    },
  ]);
  expect(code).toBe(1);
});

test('a file that cannot be read is told also after one that is wrong', async () => {
  const bad = file('bad.yaml', policyYaml('a', 'token.valid && token.color'));
  const files = [bad, 'nowhere.yaml'];
  const { code, stderr } = await runCli(['policy', 'check', ...files]);
  expect({ code, stderr }).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('cannot read "nowhere.yaml"'),
  });
  const { stdout } = await runCli(['policy', 'check', '-o', 'json', ...files]);
  expect(JSON.parse(stdout)).toMatchObject([
    { file: bad, good: false },
    { file: 'nowhere.yaml', good: false, findings: [{ message: 'cannot read "nowhere.yaml"' }] },
  ]);
});

test.each([
  { name: 'no such file', args: ['check', 'nowhere.yaml'], code: 2, says: 'cannot read "nowhere.yaml"' },
  { name: 'no file', args: ['check'], code: 2, says: "missing required argument 'files'" },
  {
    name: 'a since that is none',
    args: ['try', 'x.yaml', '--since', 'ever'],
    code: 2,
    says: '--since "ever"',
  },
  { name: 'an unknown command', args: ['chekc'], code: 2, says: 'unknown command' },
])('policy $args: $name', async ({ args, code, says }) => {
  const result = await runCli(['policy', ...args]);
  expect(result.code).toBe(code);
  expect(result.stderr).toContain(says);
});

test('a file without a policy is said to have none', async () => {
  const path = file('none.yaml', 'kind: Service\n');
  const { code, stderr } = await runCli(['policy', 'check', path]);
  expect(code).toBe(1);
  expect(stderr).toContain('not looked at: Service');
  expect(stderr).toContain('has no ApprovalPolicy');
});

test('explain: the rule that decided, by the policy as it was then, and what it says now [X-1]', async () => {
  const { code, stdout } = await runCli(['policy', 'explain', 'edge-1', ...busFlags]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/request R-edge-1 of cluster edge-1/);
  expect(stdout).toMatch(/approved \S+Z by policy default\/r, PolicyApproved/);
  expect(stdout).toMatch(
    /policies then .*: approved, PolicyApproved\n.*\n→ +default +r +Approve +true +request\.clusterName="edge-1" verified\.keyChanged=false/,
  );
  expect(stdout).toMatch(
    /policies now .*: held, NoRuleMatched\n.*\n +default +r +Approve +false +request\.clusterName="edge-1" fleet\.clusters=3/,
  );
});

test('explain: a person decided, and the policy did not', async () => {
  const { stdout } = await runCli(['policy', 'explain', 'core', '-o', 'json', ...busFlags]);
  expect(JSON.parse(stdout)).toMatchObject({
    clusterName: 'core',
    decision: { verdict: 'approved', by: { person: 'anna' } },
    atDecision: { verdict: 'held', rules: [{ answer: 'false', decides: false }] },
    now: { verdict: 'approved', rules: [{ answer: 'true', decides: true, inputs: { 'fleet.clusters': 3 } }] },
  });
});

test('explain: nobody has asked under this name', async () => {
  const { code, stderr } = await runCli(['policy', 'explain', 'nobody', ...busFlags]);
  expect(code).toBe(1);
  expect(stderr).toContain('"nobody"');
});

test('try: what would have been decided differently, and nothing is written [X-1]', async () => {
  const before = (await Array.fromAsync(approver.scan({}))).length;
  const path = file(
    'try.yaml',
    policyYaml('default', 'request.clusterName == "core" || fleet.clusters == 0'),
  );
  const { code, stdout } = await runCli(['policy', 'try', path, ...busFlags]);
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^CLUSTER +REQUESTED +THEN +NOW +RULE\nedge-2 +\S+Z +approved +held +NoRuleMatched\ncore +\S+Z +held +approved +default\/r\n/,
  );
  expect(stdout).toMatch(
    /judged since \S+: 3, decided differently: 2\napproved → held: 1\nheld → approved: 1\n$/,
  );
  expect(await Array.fromAsync(approver.scan({}))).toHaveLength(before);
  const as = (format: string) => runCli(['policy', 'try', path, '-o', format, ...busFlags]);
  expect((await as('name')).stdout).toBe('edge-2\ncore\n');
  expect(parse((await as('yaml')).stdout)).toMatchObject({ judged: 3, counts: { 'held → approved': 1 } });
});

test('try: the same in JSON; what is older than --since is not judged', async () => {
  const path = file('try.yaml', policyYaml('default', 'token.valid', 'Deny'));
  const { stdout } = await runCli([
    'policy',
    'try',
    path,
    '--since',
    '2999-01-01T00:00:00Z',
    '-o',
    'json',
    ...busFlags,
  ]);
  expect(JSON.parse(stdout)).toMatchObject({ judged: 0, changed: [], counts: {} });
});

test('try: a file with a mistake is not tried', async () => {
  const path = file('try.yaml', policyYaml('default', 'token.colour'));
  const { code, stderr } = await runCli(['policy', 'try', path, ...busFlags]);
  expect({ code, says: stderr.includes('has 1 mistake') }).toEqual({ code: 1, says: true });
});

test.each([{ args: ['explain', 'edge-1'] }, { args: ['try', 'wider.yaml'] }])(
  'policy $args says what it waits for',
  async ({ args }) => {
    writeFileSync(join(folder, 'wider.yaml'), policyYaml('default', 'true'));
    // It takes connections and says nothing.
    const silent = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void silent.close());
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const bus = busFlags.with(1, `127.0.0.1:${port}`);
    await using cli = startCli(['policy', ...args, ...bus], { directory: folder });
    expect(await cli.line(/^… connecting/)).toMatch(/ \(\d+ s\)$/);
  },
);
