import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type KubeObject, kubeconfigYaml, resources } from '@rollcall/shared/kubernetes';
import type { ApprovalPolicy } from '@rollcall/shared/resources';
import { rollcallVersion } from '@rollcall/shared/service/version';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { grant, startTestEmbeddedHub, type TestEmbeddedHub, until } from '../../tests/harness/embedded.ts';
import { runCli, startCli, withoutProgress } from './run-cli.ts';

let hub: TestEmbeddedHub;
let environment: Record<string, string>;
const run = (...args: string[]) => runCli(args, { environment });
const start = (...args: string[]) => startCli(args, { environment });

const policies = resources.approvalPolicies;

/** `script` gives a program a terminal; q ends it once something is drawn. */
function inTerminal(line: readonly string[]): { command: string; args: string[] } {
  const entry = join(import.meta.dirname, '..', 'main.ts');
  return { command: 'script', args: ['-qec', [process.execPath, entry, ...line].join(' '), '/dev/null'] };
}

async function drive(command: string, args: string[], env: Record<string, string>): Promise<string> {
  const { PATH = '' } = process.env;
  const child = spawn(command, args, { env: { PATH, HOME: hub.up.stateDir, TERM: 'xterm', ...env } });
  let screen = '';
  let hasAsked = false;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
    if (!screen.includes('q ends') || hasAsked) return;
    hasAsked = true;
    child.stdin.write('q');
  });
  await once(child, 'close');
  return screen;
}

beforeAll(async () => {
  hub = await startTestEmbeddedHub();
  const { stateDir } = hub.up;
  // As `rollcall up` leaves it for people.
  writeFileSync(join(stateDir, 'kubeconfig'), readFileSync(hub.up.plane.adminKubeconfigPath), {
    mode: 0o600,
  });
  environment = { ROLLCALL_HOME: stateDir };
  const token = await hub.createToken({ uses: 5 });
  await hub.startAgent({ name: 'edge-1', token: token.text });
  await hub.untilReady('edge-1');
});
afterAll(() => hub[Symbol.asyncDispose]());

test('a cluster is described: who, why, when, its timeline, and what to do', async () => {
  const { code, stdout } = await run('describe', 'cluster', 'edge-1');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Name: +edge-1$/m);
  expect(stdout).toMatch(/^State: +ready \(Alive\) since /m);
  expect(stdout).toMatch(/^ {2}By: +policy default\/valid-token \(generation 1\)$/m);
  expect(stdout).toMatch(/^ {2}Token: +rollcall-join\/test-0$/m);
  expect(stdout).toMatch(/^ {2}\S+Z approved +by policy default\/valid-token, PolicyApproved/m);
  expect(stdout).toMatch(/^ {2}Ready +True +Alive/m);
  expect(stdout).toMatch(/^ {2}- Nothing to do\.$/m);
  const json = JSON.parse((await run('describe', 'clusters', 'edge-1', '-o', 'json')).stdout);
  expect(json).toMatchObject({ phase: 'ready', decision: { by: { policy: 'default' } }, missing: [] });
});

test('what nobody knows, and kinds that are not described, are told apart', async () => {
  const nobody = await run('describe', 'cluster', 'nobody');
  expect(nobody).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('"nobody"') });
  const policy = await run('describe', 'policy', 'default');
  expect(policy).toMatchObject({ code: 2, stderr: expect.stringContaining('only clusters and requests') });
});

test.each([
  { kind: 'policies', want: /^NAME +RULES +READY +AGE\ndefault +1 +True/ },
  { kind: 'sets', want: /^NAME +CLUSTERS +EMPTY +AGE\ndefault/ },
])('$kind are listed', async ({ kind, want }) => {
  expect((await run('get', kind)).stdout).toMatch(want);
});

test('a watch shows what is there and then what changes, in the same columns', async () => {
  await using cli = start('get', 'policies', '--watch');
  await cli.line(/^default +1 +True/);
  const policy = {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ApprovalPolicy',
    metadata: { name: 'later' },
    spec: { rules: [] },
  };
  await hub.up.admin.create(policies, policy);
  await cli.line(/^later +0 +True/);
  cli.child.kill('SIGINT');
  const { code, stdout, stderr } = await cli.result;
  expect(code).toBe(0);
  expect(stdout.match(/^NAME/gm)).toHaveLength(1);
  // Over one watch: only the first of its changes says which columns there are.
  expect(withoutProgress(stderr)).toBe('');
});

test('a watch of one name shows no other, and two names are refused', async () => {
  await using cli = start('get', 'policies', 'default', '--watch', '-o', 'name');
  await cli.line(/^approvalpolicy\.rollcall\.dev\/default$/);
  cli.child.kill('SIGINT');
  expect((await cli.result).stdout).toBe('approvalpolicy.rollcall.dev/default\n');
  expect(await run('get', 'policies', 'a', 'b', '-w')).toMatchObject({ code: 2, stdout: '' });
});

test('a cluster is cordoned and uncordoned, once each [KA-9]', async () => {
  expect(await run('cordon', 'edge-1')).toMatchObject({ code: 0, stdout: 'cluster "edge-1" is cordoned\n' });
  expect((await hub.cluster('edge-1'))?.spec?.unschedulable).toBe(true);
  expect((await run('cordon', 'edge-1')).stdout).toBe('cluster "edge-1" is cordoned already\n');
  expect((await run('uncordon', 'edge-1', '--dry-run', '-o', 'json')).stdout).toBe('');
  expect((await run('uncordon', 'edge-1')).stdout).toBe('cluster "edge-1" is uncordoned\n');
  expect(await run('cordon', 'nobody')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('"nobody"'),
  });
});

test('a command that changes an object prints it for programs', async () => {
  const { stdout } = await run('uncordon', 'edge-1', '-o', 'json');
  const cluster = JSON.parse(stdout);
  expect(cluster).toMatchObject({ kind: 'ManagedCluster', metadata: { name: 'edge-1' } });
  expect(cluster.metadata).not.toHaveProperty('managedFields');
  const tokens = ['of-script-1', 'of-script-2'];
  for (const name of tokens) await run('token', 'create', '--name', name);
  const renewed = parse((await run('token', 'renew', ...tokens, '-o', 'yaml')).stdout);
  expect(renewed).toMatchObject({ kind: 'List', items: tokens.map((name) => ({ metadata: { name } })) });
  const deleted = await run('token', 'delete', ...tokens, '--yes', '-o', 'name');
  expect(deleted.stdout).toBe(
    tokens.map((name) => `clusterregistrationtoken.rollcall.dev/${name}\n`).join(''),
  );
  expect(JSON.parse((await run('version', '-o', 'json')).stdout)).toEqual({ version: rollcallVersion });
});

test.each([
  { args: ['--ttl', '99999d'], want: 'would not take the token: InvalidTtl, ttl "99999d" is longer' },
  { args: ['--cluster-set', 'nowhere'], want: 'InvalidSet, there is no set "nowhere"' },
  { args: ['--ttl', '0'], want: 'InvalidTtl, ttl "0" (for ever) is not allowed on this hub' },
  { args: ['--cluster-set', 'default', '--publish'], want: 'would be made (dry run)', code: 0 },
])('a dry run says what the hub would say of a token: $args', async ({ args, want, code = 3 }) => {
  const dry = await run('token', 'create', '--name', 'never', '--dry-run', ...args);
  expect(dry.stderr).toContain(want);
  expect(dry).toMatchObject({ code, stdout: '' });
  const where = { name: 'never', namespace: 'rollcall-join' };
  expect(await hub.up.admin.get(resources.clusterRegistrationTokens, where)).toBeUndefined();
});

test('a cordon is an event of its own, with the name of who did it', async () => {
  await until('the mark is gone in the history as well', async () =>
    (await run('events', '--type', 'uncordoned')).stdout.includes('cluster.uncordoned'),
  );
  const { stdout } = await run('events', '--cluster', 'edge-1', '--type', 'cordoned,uncordoned');
  const [first, second] = stdout.split('\n');
  expect(first).toMatch(/cluster\.cordoned .*by rollcall-admin, Cordoned: a person cordoned the cluster$/);
  expect(second).toMatch(/cluster\.uncordoned .*by rollcall-admin, Uncordoned: a person uncordoned/);
});

test('a token that the hub makes is said to be in a Secret, and is there', async () => {
  const soon = await run('token', 'create', '--publish', '--name', 'soon');
  expect(soon).toMatchObject({ code: 0, stdout: 'secret rollcall-join/soon holds the token\n' });
  const inSecret = { name: 'soon', namespace: 'rollcall-join' };
  expect(await hub.up.admin.get(resources.secrets, inSecret)).toBeDefined();
  const made = await run('token', 'create', '--publish', '--name', 'rollout', '--uses', '2', '--wait');
  expect(made).toMatchObject({ code: 0, stdout: 'secret rollcall-join/rollout holds the token\n' });
  expect(made.stderr).toContain('token rollcall-join/rollout: good for 2 clusters, until ');
  expect(made.stderr).toContain('kubectl -n rollcall-join get secret rollout -o jsonpath=');
  const where = { name: 'rollout', namespace: 'rollcall-join' };
  const secret = await hub.up.admin.get<KubeObject & { data?: Record<string, string> }>(
    resources.secrets,
    where,
  );
  const command = Buffer.from(secret?.data?.['command'] ?? '', 'base64').toString();
  expect(command).toMatch(/^ROLLCALL_TOKEN=rc1\.\S+ rollcall register 127\.0\.0\.1:\d+ --ca-cert-hash /);
  expect(made.stdout + made.stderr).not.toContain('rc1.');
  const named = await run('token', 'create', '--publish', '-o', 'name');
  expect(named.stdout).toMatch(/^clusterregistrationtoken\.rollcall\.dev\/token-[0-9a-f]{8}\n$/);
});

test.each([
  { args: ['--ttl', '0'], want: 'InvalidTtl, ttl "0" (for ever) is not allowed on this hub' },
  { args: ['--ttl', '99999d'], want: 'InvalidTtl, ttl "99999d" is longer than ten years' },
  { args: ['--publish', '--name', 'taken', '--wait'], want: 'SecretTaken' },
  { args: ['--publish', '--name', 'taken'], want: 'SecretTaken' },
  { args: ['--publish', '--ttl', '0'], want: 'InvalidTtl, ttl "0" (for ever) is not allowed on this hub' },
  { args: ['--publish', '--namespace', 'team'], want: 'InvalidNamespace, ' },
])('a token that the hub does not take is refused with its words: $args [FL-8]', async ({ args, want }) => {
  await hub.up.admin.apply(
    resources.secrets,
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'taken', namespace: 'rollcall-join' } },
    { force: true },
  );
  const team = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } };
  await hub.up.admin.apply(resources.namespaces, team, { force: true });
  const { code, stdout, stderr } = await run('token', 'create', ...args);
  expect(stderr).toContain(want);
  expect(stderr).toContain('code: TOKEN_REFUSED');
  // What it was made as is gone again: nobody could ever use it.
  const left = await hub.up.admin.list<KubeObject<{ ttl?: string; publish?: boolean }>>(
    resources.clusterRegistrationTokens,
  );
  const refused = left.filter(
    ({ metadata, spec }) =>
      metadata.name === 'taken' || metadata.namespace === 'team' || ['0', '99999d'].includes(spec?.ttl ?? ''),
  );
  expect(refused).toEqual([]);
  expect(stderr).not.toContain('good for');
  expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
});

test('who made a token, a policy or a set is in the audit', async () => {
  const { stdout } = await run('audit', '--person', 'rollcall-admin');
  expect(stdout).toMatch(/token\.declared +rollcall-join\/rollout +rollcall-admin/);
  expect(stdout).toMatch(/policy\.declared +later +rollcall-admin/);
  expect(stdout).toMatch(/cluster\.cordoned +edge-1 +rollcall-admin/);
});

test('a token is deleted only by who says so, and only together [KA-4]', async () => {
  const unasked = await run('token', 'delete', 'test-0');
  expect(unasked).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('no terminal to ask at; give --yes'),
  });
  expect(unasked.stderr).toContain('of 5); clusters that asked with it stay');
  const half = await run('token', 'delete', 'test-0', 'nobody', '--yes');
  expect(half).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('no token "nobody"') });
  expect((await run('token', 'delete', 'test-0', '--yes')).stdout).toBe(
    'token rollcall-join/test-0 is deleted\n',
  );
});

test('whoever has a token and not its name takes it back by itself; it is repeated nowhere [KA-4]', async () => {
  const { text } = await hub.createToken();
  const { code, stdout, stderr } = await run('token', 'delete', text, '--yes');
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^token rollcall-join\/test-\d+ is deleted\n$/),
  });
  const again = await run('token', 'delete', text, '--yes');
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('NOT_FOUND') });
  const torn = await run('token', 'delete', text.slice(0, -1), '--yes');
  expect(torn).toMatchObject({ code: 3, stderr: expect.stringContaining('TOKEN_INVALID') });
  const shouted = await run('token', 'delete', ` ${text.toUpperCase()}`, '--yes');
  expect(shouted).toMatchObject({ code: 3, stderr: expect.stringContaining('TOKEN_INVALID') });
  const said = [stderr, again.stderr, torn.stderr, shouted.stderr].join().toLowerCase();
  expect(said).not.toContain(text.slice(21, -1).toLowerCase());
});

test('the audit says who was let in by what, and filters that match nothing say so', async () => {
  const { stdout } = await run('audit', '--token', 'test-0');
  expect(stdout).toMatch(/^TIME +WHAT +ABOUT +BY +REASON/);
  expect(stdout).toMatch(/token\.declared +rollcall-join\/test-0/);
  expect(stdout).toMatch(/cluster\.approved +edge-1 +policy default\/valid-token/);
  const nothing = await run('audit', '--person', 'nobody');
  expect(nothing).toEqual({ code: 0, stdout: '', stderr: expect.stringMatching(/No decisions found\.\n$/) });
  const [first = ''] = (await run('audit', '--cluster', 'edge-1', '-o', 'json')).stdout.split('\n');
  expect(JSON.parse(first)).toMatchObject({ about: 'edge-1', token: 'rollcall-join/test-0' });
  const { keys, source } = JSON.parse(first) as { keys: string[]; source: string };
  expect(source).toBe('/rollcall/approver');
  const ofKey = (await run('audit', '--key', keys[0] ?? '')).stdout;
  expect(ofKey).toMatch(/cluster\.approved +edge-1/);
  expect(ofKey).not.toMatch(/token\.|policy\./);
  expect(await run('audit', '--key', 'edge-1')).toMatchObject({ code: 2, stdout: '' });
  expect(await run('audit', '--since', 'yesterday')).toMatchObject({ code: 2, stdout: '' });
  const names = (await run('audit', '--token', 'test-0', '-o', 'name')).stdout;
  expect(names.split('\n')).toEqual(['token/rollcall-join/test-0', 'cluster/edge-1', '']);
  const entries = parse((await run('audit', '--cluster', 'edge-1', '-o', 'yaml')).stdout);
  expect(entries).toContainEqual(expect.objectContaining({ what: 'cluster.approved', about: 'edge-1' }));
});

test('a policy that is applied by a dry run is no policy: neither an object nor an event', async () => {
  const policy = (name: string) => ({
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ApprovalPolicy',
    metadata: { name },
    spec: { rules: [{ name: 'all', when: 'true', effect: 'Approve' }] },
  });
  await hub.up.admin.create(policies, policy('dry'), { dryRun: true });
  await hub.up.admin.create(policies, policy('wet'));
  const declared = (name: string) => hub.log.read({ kind: 'policy', id: name });
  await until('the later one is declared', async () => (await declared('wet')).head);
  expect((await declared('dry')).head).toBeUndefined();
  expect(await hub.up.admin.get(policies, { name: 'dry' })).toBeUndefined();
  await hub.up.admin.delete(policies, 'wet');
});

test('events that no filter lets through are said to be none', async () => {
  const { code, stderr } = await run('events', '--type', 'unreachable');
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/No events found\.\n$/) });
});

test('the status of a hub that works is exit 0', async () => {
  const { code, stdout } = await run('status');
  expect(stdout).toMatch(/^Clusters: +1 ready$/m);
  expect(stdout).toMatch(/^Admission: +in place$/m);
  expect(stdout).toMatch(/^projector +1\/1 +0\.1\.0$/m);
  expect(stdout).toMatch(/^Everything is as it should be\.$/m);
  expect(code).toBe(0);
  expect(await run('dead', 'list')).toEqual({
    code: 0,
    stdout: '',
    stderr: expect.stringMatching(/No dead letters\.\n$/),
  });
});

test('a frame of top is printed for scripts, without colours', async () => {
  const { code, stdout } = await run('top', '--once');
  expect(stdout).toMatch(/^Clusters +1\n {2}ready +1 /m);
  expect(stdout).toMatch(/^Heartbeats +\d+\.\d \/s$/m);
  expect(stdout).not.toContain('\u001b');
  expect(code).toBe(0);
  const figures = JSON.parse((await run('top', '--once', '-o', 'json')).stdout);
  expect(figures).toMatchObject({ clusters: 1, clustersByState: { ready: 1 } });
});

test('at a terminal top draws until q, gives the terminal back, and leaves colours out where they are not wanted', async () => {
  const { command, args } = inTerminal(['top']);
  const screen = await drive(command, args, { ...environment, NO_COLOR: '1' });
  expect(screen).toContain('\u001b[?1049h');
  expect(screen).toMatch(/rollcall top - 127\.0\.0\.1:\d+/);
  expect(screen).not.toContain('\u001b[32m');
  expect(screen.trimEnd().endsWith('\u001b[?1049l')).toBe(true);
});

test('a context of the nats command is written, closed to others, and taken back by our own commands', async () => {
  const config = join(hub.up.stateDir, 'config');
  const there = { ...environment, XDG_CONFIG_HOME: config };
  const { code, stdout, stderr } = await runCli(['context', 'export', '--name', 'fleet'], {
    environment: there,
  });
  expect(code).toBe(0);
  expect(stderr).toContain("nats --context fleet sub 'rollcall.stored.>'");
  const path = stdout.trim();
  expect(path).toBe(join(config, 'nats', 'context', 'fleet.json'));
  const context = JSON.parse(readFileSync(path, 'utf8'));
  expect(context).toMatchObject({
    inbox_prefix: '_INBOX_inspector',
    jetstream_domain: 'hub',
    tls_first: true,
  });
  for (const file of [path, context.creds, context.ca]) expect(statSync(file).mode & 0o077).toBe(0);
  // Nothing but the context leads to the hub here.
  const only = { environment: { XDG_CONFIG_HOME: config } };
  const events = await runCli(['events', '--nats-context', 'fleet', '--type', 'policy.declared'], only);
  expect(events.stdout).toContain('policy.declared');
  const byVariable = { environment: { XDG_CONFIG_HOME: config, NATS_CONTEXT: 'fleet' } };
  expect((await runCli(['audit'], byVariable)).stdout).toContain('cluster.approved');
  const examined = await runCli(['doctor'], byVariable);
  expect(examined.stdout).toMatch(/^finding +kubeconfig: there is no hub in/m);
  expect(examined.stdout).toMatch(/^ok +nats: connected to /m);
  writeFileSync(path, '{"url":"nats://somebody.else:4222"}');
  const again = await runCli(['context', 'export', '--name', 'fleet'], { environment: there });
  expect(again).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('give another --name, or --force'),
  });
});

test('who only watches reads the history by pages, and is told what takes more', async () => {
  const creds = ['--creds', join(hub.up.stateDir, 'ops.creds')];
  const events = await runCli(['events', ...creds, '--type', 'policy.declared', '--since', '1h'], {
    environment,
  });
  expect(events.code, events.stderr).toBe(0);
  expect(events.stdout).toContain('policy.declared');
  const dead = await runCli(['dead', 'list', ...creds], { environment });
  expect(dead.stderr).toContain('stream DEAD can only be read with inspector.creds');
  expect(dead.stderr).toContain('code: BUS_REFUSED');
});

test('NATS_URL names another address, and says so', async () => {
  const away = await runCli(['events'], { environment: { ...environment, NATS_URL: 'nats://127.0.0.1:1' } });
  expect(away.stderr).toContain('bus: 127.0.0.1:1 (NATS_URL)');
  expect(away.code).toBe(5);
});

test('a reader that goes away ends a watch quietly', async () => {
  await using cli = start('get', 'policies', '--watch');
  await cli.line(/^default/);
  cli.child.stdout?.destroy();
  await hub.up.admin.mergePatch(policies, 'later', { metadata: { labels: { changed: 'yes' } } });
  const { code, stderr } = await cli.result;
  expect({ code, stderr: withoutProgress(stderr) }).toEqual({ code: 0, stderr: '' });
});

test('a request that waits for a person is described as well', async () => {
  const rule = { name: 'look', when: "request.clusterName == 'edge-2'", effect: 'Hold', reason: 'Look' };
  await hub.up.admin.create(policies, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ApprovalPolicy',
    metadata: { name: 'look-first' },
    spec: { rules: [rule] },
  });
  await until('the policy is in force', async () => {
    const policy = await hub.up.admin.get<ApprovalPolicy & { metadata: object }>(policies, {
      name: 'look-first',
    });
    return policy?.status?.rules === 1;
  });
  const token = await hub.createToken();
  const starting = hub.startAgent({ name: 'edge-2', token: token.text });
  await until('the request is held', async () => (await hub.request('edge-2'))?.status?.result === 'Held');
  const { code, stdout } = await run('describe', 'request', 'edge-2');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^State: +held$/m);
  expect(stdout).toMatch(/policy look-first\/look/);
  expect(stdout).toContain('then `rollcall approve edge-2` or `rollcall deny edge-2`.');
  expect((await run('doctor')).stdout).toMatch(
    /finding +requests: 1 held for a person: edge-2\n +→ `rollcall policy explain edge-2`/,
  );
  expect((await run('status')).stdout).toMatch(/^Waiting requests: +1, the oldest for /m);
  await (await starting).agent.stop();
});

test('a policy with a mistake and a token that is not taken are findings, each with a next step', async () => {
  const rule = { name: 'wrong', when: 'token.colour', effect: 'Hold' };
  await hub.up.admin.create(policies, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ApprovalPolicy',
    metadata: { name: 'with-a-mistake' },
    spec: { rules: [rule] },
  });
  await hub.up.admin.create(resources.clusterRegistrationTokens, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ClusterRegistrationToken',
    metadata: { name: 'into-nowhere', namespace: 'rollcall-join' },
    spec: { publish: true, clusterSet: 'nowhere' },
  } as KubeObject);
  const found = await until('both are judged', async () => {
    const { stdout } = await run('doctor');
    return stdout.includes('with-a-mistake') && stdout.includes('into-nowhere') && stdout;
  });
  expect(found).toMatch(
    /finding +policies: 1 with a mistake, not in force as written: with-a-mistake \(CompileFailed\)\n +→ /,
  );
  expect(found).toMatch(
    /finding +tokens: \d with which nobody can ask: rollcall-join\/into-nowhere \(InvalidSet\).*\n +→ /,
  );
});

test('the fleet, and a cluster, are shown as they were [X-11]', async () => {
  const before = new Date().toISOString();
  const token = await hub.createToken({ clusterName: 'was-in' });
  await hub.startAgent({ name: 'was-in', token: token.text });
  await hub.untilReady('was-in');
  const meanwhile = new Date().toISOString();
  expect((await run('deny', 'was-in', '--reason', 'enough')).code).toBe(0);
  const fleetAt = (at: string, ...more: string[]) => run('get', 'clusters', '--at', at, ...more);
  expect((await fleetAt(before)).stdout).not.toContain('was-in');
  const was = await fleetAt(meanwhile);
  expect(was.stdout).toMatch(/^was-in +ready +Alive +\S+Z/m);
  expect(was.stderr).toMatch(/^Policies then: .*default/m);
  expect((await fleetAt('0s', '--state', 'out')).stdout).toMatch(/^was-in +out +PersonDenied/m);
  expect((await fleetAt(meanwhile, 'was-in', '-o', 'name')).stdout).toBe('was-in\n');
  expect(await fleetAt(before, 'was-in')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`at ${before} no cluster had the id or the name "was-in"`),
  });
  for (const wrong of [['2999-01-01'], [before, '--watch'], [before, '-l', 'a=b'], ['yesterday']])
    expect((await fleetAt(wrong[0] ?? '', ...wrong.slice(1))).code).toBe(2);

  const described = await run('describe', 'cluster', 'was-in', '--at', meanwhile);
  expect(described.stdout).toMatch(/^State: +ready \(Alive\) since /m);
  expect(described.stdout).not.toMatch(/denied|^Next:/m);
  expect((await run('describe', 'cluster', 'was-in', '--at', before)).code).toBe(1);
});

test('one side of the hub that is away does not hide the other', async () => {
  const kubeconfig = join(hub.up.stateDir, 'away.kubeconfig');
  const away = { ...hub.up.plane.access, server: 'https://127.0.0.1:1' };
  writeFileSync(kubeconfig, kubeconfigYaml(away), { mode: 0o600 });
  const caFile = join(hub.up.stateDir, 'ca.pem');
  writeFileSync(caFile, hub.up.hub.caPem);
  const bus = ['--ca-file', caFile, '--creds', join(hub.up.stateDir, 'inspector.creds'), '--server'];
  const [server = ''] = hub.up.natsAddress.servers;
  const described = await run('describe', 'cluster', 'edge-1', '--kubeconfig', kubeconfig, ...bus, server);
  expect(described.stdout).toMatch(/^State: +ready/m);
  expect(described.stdout).toMatch(/^Not known:\n {2}kubernetes: cannot reach/m);
  const noBus = await run('describe', 'cluster', 'edge-1', ...bus, '127.0.0.1:1');
  expect(noBus.stdout).toMatch(/^ {2}history: cannot connect/m);
  const status = await run('status', ...bus, '127.0.0.1:1');
  expect(status.stdout).toMatch(/^ {2}- the bus: cannot connect/m);
  expect(status.stdout).toMatch(/^Nobody can say that all is well:$/m);
  expect(status.code).toBe(5);
  const neither = await run('status', '--kubeconfig', kubeconfig, ...bus, '127.0.0.1:1');
  expect(neither).toMatchObject({ code: 5, stdout: '' });
});

test('a service that is away and admission policies that were taken down are told, and exit 1', async () => {
  await hub.up.services.find(({ name }) => name === 'account-controller')?.stop();
  const { code, stdout } = await run('status', '-o', 'json');
  expect(JSON.parse(stdout).problems).toMatchObject([
    { text: 'account-controller does not answer', severity: 'wrong' },
  ]);
  expect(code).toBe(1);
  const binding = 'validatingadmissionpolicybindings';
  const resource = {
    group: 'admissionregistration.k8s.io',
    version: 'v1',
    plural: binding,
    kind: 'ValidatingAdmissionPolicyBinding',
    namespaced: false,
  };
  const taken = await hub.up.admin.get(resource, { name: 'rollcall-join' });
  await hub.up.admin.delete(resource, 'rollcall-join');
  const broken = await run('doctor');
  expect(broken.stdout).toMatch(/finding +service account-controller: does not answer\n +→ /);
  expect(broken.stdout).toMatch(
    /finding +admission: ValidatingAdmissionPolicyBinding rollcall-join is missing\n +→ Delete what is named, if it is there, and apply deploy\/admission/,
  );
  expect(broken.stdout).toMatch(/ok +certificate 127\.0\.0\.1:\d+: ends in 8\d days/);
  expect(broken.stdout).toMatch(/ok +clock NATS: the same as here/);
  expect(broken.code).toBe(1);
  if (taken) {
    const { apiVersion, kind, spec } = taken;
    await hub.up.admin.create(resource, { apiVersion, kind, metadata: { name: 'rollcall-join' }, spec });
  }
});

test('the doctor says what a person may do, and looks at a member and an agent', async () => {
  await grant(hub, 'victor', ['rollcall-viewer']);
  const kubeconfig = join(hub.up.stateDir, 'victor.kubeconfig');
  writeFileSync(kubeconfig, kubeconfigYaml(hub.up.plane.userAccess('victor')), { mode: 0o600 });
  const findings = JSON.parse((await run('doctor', '--kubeconfig', kubeconfig, '-o', 'json')).stdout);
  expect(findings).toContainEqual({
    check: 'rights',
    outcome: 'ok',
    message: expect.stringMatching(/^"victor" may see clusters; not: approve and deny/),
  });
  const member = await run('doctor', '--member-kubeconfig', kubeconfig, '--agent-state-dir', hub.up.stateDir);
  expect(member.stdout).toMatch(/finding +member-rights: .* answered 403/);
  expect(member.stdout).toMatch(/finding +agent-state: .* has no state of an agent/);
  expect(member.code).toBe(1);
});
