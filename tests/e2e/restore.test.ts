import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectBus, openEventLog } from '@rollcall/shared/bus';
import {
  clusterRecord,
  draft,
  epochAggregate,
  epochRecord,
  policyDeclared,
  policyWithdrawn,
} from '@rollcall/shared/events';
import { applyManifests, resources } from '@rollcall/shared/kubernetes';
import type {
  ClusterRegistrationRequest,
  ClusterRegistrationToken,
  ManagedCluster,
} from '@rollcall/shared/resources';
import { createNkey, keyFingerprint, type RegistrationToken } from '@rollcall/shared/trust';
import { type CliResult, runCli, withoutProgress } from '../../cli/tests/run-cli.ts';
import type { VerifyReport } from '../../cli/verify/verify.ts';
import {
  conditionOf,
  startTestEmbeddedHub,
  type TestAgent,
  type TestEmbeddedHub,
  until,
} from '../harness/embedded.ts';

/**
 * One hub, and what becomes of it: a backup, more changes, and each kind of loss after it. Agents run on in this process
 * through all of it, as agents elsewhere do.
 */
const base = mkdtempSync(join(tmpdir(), 'rollcall-restore-'));
const stateDir = join(base, 'state');
const backupFile = join(base, 'hub.backup');
const passphraseFile = join(base, 'passphrase');
const passphrase = 'a passphrase of some length';
/** Holds the agents; hubs come and go. */
let first: TestEmbeddedHub;
let hub: TestEmbeddedHub;
type Token = RegistrationToken & { text: string };
const tokens: Record<'all' | 'unused', Token> = {} as never;

const identityOf = (service: string) =>
  (
    JSON.parse(readFileSync(join(stateDir, 'identities', `${service}.json`), 'utf8')) as {
      bus: { jwt: string; seed: string };
    }
  ).bus;

const cli = (...args: string[]): Promise<CliResult> =>
  runCli(args, { directory: base, environment: { ROLLCALL_HOME: stateDir } });

const recordOf = async (id: string) => clusterRecord(await hub.log.read({ kind: 'cluster', id }));
const requestOf = (id: string) =>
  hub.up.admin.get<ClusterRegistrationRequest>(resources.clusterRegistrationRequests, { name: id });
const listTokens = () =>
  hub.up.admin.list<ClusterRegistrationToken & { metadata: object }>(resources.clusterRegistrationTokens);
/** The object of a token, by its key: names are the harness's. */
async function tokenObject(token: Token) {
  const found = (await listTokens()).find(({ spec }) => spec.publicKey === token.key.publicKey);
  if (!found) throw new Error('the token has no object');
  return found;
}
const agents = new Map<string, TestAgent>();
/** How much each agent had said when its hub went away. */
const phasesBefore = new Map<string, number>();
async function register(name: string, token: Token = tokens.all): Promise<TestAgent> {
  const started = await first.startAgent({ name, token: token.text });
  agents.set(name, started);
  return started;
}

async function operation(name: string, verb: 'Revoke' | 'Ban'): Promise<void> {
  const { decision } = await recordOf(name);
  const fingerprint = keyFingerprint(decision?.approvedKey ?? '');
  await hub.up.admin.mergePatch<ManagedCluster & { metadata: object }>(resources.managedClusters, name, {
    spec: { operation: { id: `${verb}-${name}`, verb, keyFingerprint: fingerprint, by: 'rollcall-admin' } },
  });
  const wanted = verb === 'Ban' ? 'banned' : 'revoked';
  await until(`${name} is ${wanted}`, async () => (await recordOf(name)).decision?.verdict === wanted);
  await until(`${name} is shown so`, async () => {
    const accepted = conditionOf(await hub.cluster(name), 'Accepted');
    return accepted?.status === 'False';
  });
}

async function stop(): Promise<void> {
  await hub.up.stop();
  for (const [name, { phases }] of agents) phasesBefore.set(name, phases.length);
}
/** Goes on with what is in the state directory now. */
async function start(): Promise<void> {
  hub = await startTestEmbeddedHub({ stateDir });
}
/** The API server of a member is another machine's; here it is the hub's own, so it keeps its certificates and its port. */
const memberKept = join(base, 'member');
function keepMember(): void {
  for (const name of ['pki', 'ports.json'])
    cpSync(join(stateDir, 'kubernetes', name), join(memberKept, name), { recursive: true });
}
function bringMemberBack(): void {
  for (const name of ['pki', 'ports.json'])
    cpSync(join(memberKept, name), join(stateDir, 'kubernetes', name), { recursive: true });
}

/** Its credentials let it in again, and it sends heartbeats; nobody did anything. A healthy cluster adds no event that would say so. */
async function untilBack(name: string): Promise<void> {
  const { phases } = agents.get(name) as TestAgent;
  const said = phasesBefore.get(name) ?? 0;
  await until(`${name} has come back`, async () =>
    phases.slice(said).some(({ message }) => message === 'connected to the hub with its member credentials'),
  );
  await hub.untilReady(name);
}

/** What a member has on the hub's API server is there, whoever made it, and nothing of those who are out. */
async function untilProvisioned(name: string): Promise<void> {
  await until(`${name} has its namespace`, () => hub.up.admin.get(resources.namespaces, { name }));
  expect(await hub.up.admin.get(resources.namespaces, { name: 'banned' })).toBeUndefined();
}

beforeAll(async () => {
  writeFileSync(passphraseFile, `${passphrase}\n`);
  first = await startTestEmbeddedHub({ stateDir });
  hub = first;
  await hub.up.admin.create(resources.approvalPolicies, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ApprovalPolicy',
    metadata: { name: 'hold-some' },
    spec: { rules: [{ name: 'held', when: 'request.clusterName.startsWith("held")', effect: 'Hold' }] },
  });
  await until('the policy is declared', async () => {
    const { head } = await hub.log.read({ kind: 'policy', id: 'hold-some' });
    return head !== undefined;
  });
  tokens.all = await hub.createToken({ uses: 'unlimited' });
  tokens.unused = await hub.createToken();
  const { clusterRegistrationTokens, namespaces } = resources;
  const ofTeam = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } };
  await hub.up.admin.create(namespaces, ofTeam);
  await hub.up.admin.create(clusterRegistrationTokens, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ClusterRegistrationToken',
    metadata: { name: 'of-team', namespace: 'team' },
    spec: { publicKey: createNkey('user').publicKey },
  });
  await hub.up.admin.create(resources.managedClusters, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedCluster',
    metadata: { name: 'beforehand', labels: { tier: 'gold' } },
    spec: { clientId: 'beforehand-1' },
  });
  for (const name of ['stays', 'revoked-later', 'banned', 'held']) await register(name);
  for (const name of ['stays', 'revoked-later', 'banned']) await hub.untilReady(name);
  await until('held is held', async () => (await requestOf('held'))?.status?.result === 'Held');
  await until('beforehand is known', async () => (await recordOf('beforehand-1')).decision !== undefined);
  await operation('banned', 'Ban');
});

afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  await first?.[Symbol.asyncDispose]();
  rmSync(base, { recursive: true, force: true });
});

test('a hub that works is found whole', async () => {
  const { code, stdout } = await cli('verify');
  expect(stdout).toContain('the chain is whole');
  expect(code).toBe(0);
});

/** As from a machine that has the hub's kubeconfig and a read-only user of its bus, and nothing else of it. */
async function cliElsewhere(...args: string[]): Promise<CliResult> {
  const caFile = join(base, 'hub-ca.pem');
  writeFileSync(caFile, hub.up.natsAddress.caPem);
  const environment = {
    ROLLCALL_HOME: join(base, 'no-hub-here'),
    KUBECONFIG: hub.up.plane.adminKubeconfigPath,
    NATS_URL: `nats://${hub.up.natsAddress.servers[0]}`,
    NATS_CREDS: join(stateDir, 'inspector.creds'),
    NATS_CA: caFile,
  };
  return runCli(args, { directory: base, environment });
}
const keylessFile = join(base, 'keyless.backup');

test('from elsewhere it is verified alike, and backed up without the keys, which says so', async () => {
  const { code, stdout } = await cliElsewhere('verify', '-o', 'json');
  const report = JSON.parse(stdout) as VerifyReport;
  expect(report.findings).toEqual([]);
  expect(report.compared).toMatchObject({ clusters: 5, requests: 4, tokens: 3, policies: 2, sets: 2 });
  expect(code).toBe(0);
  const made = await cliElsewhere('backup', keylessFile);
  expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining('no keys') });
  expect(made.stderr).toContain('back the keys up there');
  const target = join(base, 'elsewhere');
  const refused = await cli('restore', keylessFile, '--state-dir', target);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('code: BACKUP_WITHOUT_KEYS') });
  expect(existsSync(target)).toBe(false);
});

test('what nobody declared, and what has no object any more, is found', async () => {
  // Nobody but the approver may write these events; whoever could, would be found out by the objects.
  const nc = await connectBus(hub.up.natsAddress, identityOf('approver'), 'approver');
  const log = await openEventLog(nc, { epoch: 1, source: '/rollcall/approver' });
  const id = 'written-past-the-objects';
  const section = { name: id, uid: 'u1', generation: 1, rules: [], withdrawn: false };
  const record = await log.read({ kind: 'policy', id });
  await log.append([draft(policyDeclared, record, { reason: 'R', message: 'm', section })], {
    correlation: 'test',
  });
  const { code, stdout } = await cli('verify');
  expect(stdout).toContain(`DeclarationDiffers  ApprovalPolicy/${id}`);
  expect(code).toBe(1);
  const withdrawn = { ...section, withdrawn: true };
  const last = await log.read({ kind: 'policy', id });
  await log.append([draft(policyWithdrawn, last, { reason: 'R', message: 'm', section: withdrawn })], {
    correlation: 'test',
  });
  await nc.close();
  expect((await cli('verify')).code).toBe(0);
});

test('a backup is one file, says what is in it, shows no key, and is never written over', async () => {
  const made = await cli('backup', backupFile, '--passphrase-file', passphraseFile);
  expect(withoutProgress(made.stderr)).toBe('');
  expect(made.code).toBe(0);
  expect(made.stdout).toMatch(/\d+ events up to \d+ of epoch 1, \d+ objects, keys sealed; \d+ KiB/);
  const again = await cli('backup', backupFile, '--passphrase-file', passphraseFile);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('code: BACKUP_EXISTS') });
  const text = gunzipSync(readFileSync(backupFile)).toString();
  for (const path of ['registrar', 'setup', 'account-controller']) {
    const identity = readFileSync(join(stateDir, 'identities', `${path}.json`), 'utf8');
    for (const [seed] of identity.matchAll(/S[A-Z][A-Z2-7]{56}/g)) expect(text).not.toContain(seed);
  }
  expect(text).not.toContain('PRIVATE KEY');
  expect(text).not.toContain(passphrase);
});

const content = () => gunzipSync(readFileSync(backupFile)).toString();
const changed = {
  garbage: () => Buffer.from('this is no backup'),
  'cut off': () => readFileSync(backupFile).subarray(0, -200),
  'cut off between two lines': () => gzipSync(content().split('\n').slice(0, -3).join('\n').concat('\n')),
  'an event edited': () =>
    gzipSync(content().replace('"reason\\":\\"PersonBanned', '"reason\\":\\"PersonBlamed')),
  'an event left out': () =>
    gzipSync(
      content()
        .split('\n')
        .filter((line) => !line.includes('"sequence":3,'))
        .join('\n'),
    ),
  'of a later format': () => gzipSync(content().replace('"rollcallBackup":1', '"rollcallBackup":2')),
};
test.each([
  { name: 'garbage', code: 'BACKUP_INVALID', says: 'is no backup' },
  { name: 'cut off', code: 'BACKUP_INVALID', says: 'ends in the middle' },
  { name: 'cut off between two lines', code: 'BACKUP_INVALID', says: 'ends in the middle' },
  { name: 'an event edited', code: 'BACKUP_INVALID', says: 'was changed after the backup was written' },
  { name: 'an event left out', code: 'BACKUP_INVALID', says: 'changed' },
  { name: 'of a later format', code: 'BACKUP_VERSION', says: 'has format 2; this Rollcall reads up to 1' },
] as const)('a file that is $name is refused before anything is touched', async ({ name, code, says }) => {
  const file = join(base, 'changed.backup');
  const target = join(base, 'elsewhere');
  writeFileSync(file, changed[name]());
  const refused = await cli('restore', file, '--passphrase-file', passphraseFile, '--state-dir', target);
  expect(refused.stderr).toContain(`code: ${code}`);
  expect(refused.stderr).toContain(says);
  expect(refused.code).toBe(1);
  expect(existsSync(target)).toBe(false);
});

test('another passphrase opens nothing, and touches nothing', async () => {
  const wrong = join(base, 'wrong');
  const target = join(base, 'elsewhere');
  writeFileSync(wrong, 'another passphrase of some length\n');
  const refused = await cli('restore', backupFile, '--passphrase-file', wrong, '--state-dir', target);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('code: BACKUP_LOCKED') });
  expect(existsSync(target)).toBe(false);
});

test('a hub that is there is not written over', async () => {
  const refused = await cli('restore', backupFile, '--passphrase-file', passphraseFile);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('code: STATE_NOT_EMPTY') });
  const running = await cli('restore', backupFile, '--passphrase-file', passphraseFile, '--keep-kubernetes');
  expect(running).toMatchObject({ code: 1, stderr: expect.stringContaining('code: STATE_IN_USE') });
  expect((await cli('verify')).code).toBe(0);
});

test('sealed to a key, it is opened by its secret half alone, and makes the same hub elsewhere', async () => {
  const keyFile = join(base, 'backup.key');
  const { stdout: publicKey, stderr } = await cli('backup', 'key', keyFile);
  expect(publicKey).toMatch(/^X[A-Z2-7]{55}\n$/);
  expect(stderr).toContain('keep');
  const directory = mkdtempSync(join(base, 'backups-'));
  const made = await cli('backup', directory, '--to', publicKey.trim());
  const file = /^"([^"]+)"/.exec(made.stdout)?.[1] ?? '';
  expect(file).toMatch(/rollcall-[0-9A-Z]{16}-\d{8}T\d{6}Z\.backup$/i);
  const target = join(base, 'elsewhere');
  const locked = await cli('restore', file, '--passphrase-file', passphraseFile, '--state-dir', target);
  expect(locked.stderr).toContain('code: BACKUP_LOCKED');
  const opened = await cli('restore', file, '--key-file', keyFile, '--state-dir', target);
  expect(opened).toMatchObject({ code: 0, stdout: expect.stringContaining('epoch 2 begins') });
  const [here, there] = [stateDir, target].map(
    (place) => JSON.parse(readFileSync(join(place, 'hub.json'), 'utf8')) as { epoch: number; hubId: string },
  );
  expect(there).toMatchObject({ hubId: here?.hubId, epoch: 2 });
  expect(here?.epoch).toBe(1);
  rmSync(target, { recursive: true });
});

/** What each of the ways back must keep to. */
async function checkTokensAreVoid(newcomer: string): Promise<void> {
  await until('the tokens are shown as void', async () => {
    const [ready] = (await tokenObject(tokens.unused)).status?.conditions ?? [];
    return ready?.reason === 'OldEpoch';
  });
  const { phases, agent } = await register(newcomer, tokens.unused);
  await until('the token is refused', async () =>
    phases.some(({ phase, detail }) => phase === 'refused' && detail.code === 'TOKEN_OLD_EPOCH'),
  );
  await agent.stop();
  expect((await recordOf(newcomer)).decision).toBeUndefined();
}

test('Kubernetes was kept: what it shows as taken is taken again, what it would give is held, agents come back', async () => {
  // After the backup: a cluster more, one less, and a person who lets one in.
  await register('newer');
  await hub.untilReady('newer');
  await operation('revoked-later', 'Revoke');
  const keyFingerprintOfHeld = (await requestOf('held'))?.spec.keyFingerprint;
  await hub.up.admin.mergePatch(resources.clusterRegistrationRequests, 'held', {
    spec: { decision: { verdict: 'Approve', keyFingerprint: keyFingerprintOfHeld, by: 'rollcall-admin' } },
  });
  await hub.untilReady('held');
  keepMember();
  await stop();

  const made = await cli('restore', backupFile, '--passphrase-file', passphraseFile, '--keep-kubernetes');
  expect(made.stderr).toContain('before-restore-');
  expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining('epoch 2 begins') });
  await start();

  const { restored, isReviewed } = epochRecord(await hub.log.read(epochAggregate));
  expect(restored?.epoch).toBe(2);
  expect(isReviewed).toBe(true);
  await untilBack('stays');
  expect((await recordOf('revoked-later')).decision).toMatchObject({
    verdict: 'revoked',
    reason: 'RestoredFromProjection',
  });
  expect((await recordOf('banned')).decision?.verdict).toBe('banned');
  const { decision } = await recordOf('held');
  expect(decision?.verdict).toBe('held');
  const reasons: string[] = [];
  for await (const { reason } of hub.log.scan({ filter: 'cluster.held.*' })) reasons.push(reason);
  expect(reasons).toContain('RestoredDecision');
  expect(decision?.approvedKey).toBeUndefined();
  expect((await recordOf('newer')).identity).toBeUndefined();

  await until('only the cluster that the backup does not know is not as the events say', async () => {
    const { stdout } = await cli('verify', '-o', 'json');
    const { findings } = JSON.parse(stdout) as { findings: { code: string; about: string }[] };
    const abouts = findings.map(({ code, about }) => `${code} ${about}`).toSorted();
    return (
      abouts.length === 2 &&
      abouts[0] === 'ProjectionUnknown ClusterRegistrationRequest/newer' &&
      abouts[1] === 'ProjectionUnknown ManagedCluster/newer'
    );
  });

  // The same words in the same object are the old decision; a person says it anew.
  await hub.up.admin.mergePatch(resources.clusterRegistrationRequests, 'held', {
    spec: {
      decision: {
        verdict: 'Approve',
        keyFingerprint: keyFingerprintOfHeld,
        reason: 'again',
        by: 'rollcall-admin',
      },
    },
  });
  await hub.untilReady('held');
});

test('a cluster that came after the backup asks by itself, and is in again when a person says so', async () => {
  const { agent, directory } = agents.get('newer') as TestAgent;
  // A new process tells its facts; one that runs on looks within ten minutes.
  await agent.stop();
  const again = await first.startAgent({ name: 'newer', directory });
  agents.set('newer', again);
  const request = await until('it is held', async () => {
    const found = await requestOf('newer');
    return found?.status?.reason === 'RegisteredAfterBackup' && found;
  });
  expect(request.status?.message).toContain('rollcall approve newer');
  expect(again.phases.map(({ detail }) => detail.code)).toContain('CLUSTER_FORGOTTEN');
  const approved = await cli('approve', 'newer', '--kubeconfig', hub.up.plane.adminKubeconfigPath);
  expect(approved.code).toBe(0);
  await hub.untilReady('newer');
  const { identity } = await recordOf('newer');
  expect(identity?.admittedKey).toBe(identity?.request.key);
});

test('tokens of the epoch before are void until a person renews them', async () => {
  await checkTokensAreVoid('comes-with-old-token');
  const { metadata } = await tokenObject(tokens.unused);
  const renewed = await cli(
    'token',
    'renew',
    metadata.name,
    '--kubeconfig',
    hub.up.plane.adminKubeconfigPath,
  );
  expect(renewed).toMatchObject({ code: 0, stdout: expect.stringContaining('counts in epoch 2') });
  await until('it is usable', async () => {
    const [ready] = (await tokenObject(tokens.unused)).status?.conditions ?? [];
    return ready?.reason === 'Usable';
  });
  await register('comes-with-renewed-token', tokens.unused);
  await hub.untilReady('comes-with-renewed-token');
});

test('a store that was rolled back to an older copy is found out by what Kubernetes shows', async () => {
  const store = join(stateDir, 'nats', 'jetstream');
  const older = join(base, 'older-store');
  await stop();
  cpSync(store, older, { recursive: true });
  await start();
  await untilBack('stays');
  const { metadata } = await tokenObject(tokens.all);
  await cli('token', 'renew', metadata.name, '--kubeconfig', hub.up.plane.adminKubeconfigPath);
  const { agent } = await register('comes-after-the-copy');
  await hub.untilReady('comes-after-the-copy');
  await agent.stop();
  await stop();
  rmSync(store, { recursive: true });
  cpSync(older, store, { recursive: true });
  await start();
  const { code, stdout } = await cli('verify');
  // The hub goes on meanwhile, so there may be another event in that place by now.
  expect(stdout).toMatch(/(TailLost|EventDiffers) {2}\w+\/comes-after-the-copy/);
  expect(stdout).toContain('--keep-kubernetes');
  expect(code).toBe(1);
});

test('everything was lost: the hub comes back from the file alone, with what people had written', async () => {
  await stop();
  rmSync(stateDir, { recursive: true });
  // A later epoch than that of the backup is known of.
  const made = await cli('restore', backupFile, '--passphrase-file', passphraseFile, '--epoch', '3');
  expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining('epoch 3 begins') });
  bringMemberBack();
  await start();
  await untilBack('stays');
  expect(conditionOf(await hub.cluster('banned'), 'Accepted')).toMatchObject({
    status: 'False',
    reason: 'PersonBanned',
  });
  expect((await requestOf('held'))?.status?.result).toBe('Held');
  const beforehand = await hub.cluster('beforehand');
  expect(beforehand?.metadata).toMatchObject({ labels: { tier: 'gold' } });
  const { head } = await hub.log.read({ kind: 'policy', id: 'hold-some' });
  expect(head).toBeDefined();
  await untilProvisioned('stays');
  await checkTokensAreVoid('comes-with-old-token-again');
  const ofTeam = { name: 'of-team', namespace: 'team' };
  expect(await hub.up.admin.get(resources.clusterRegistrationTokens, ofTeam)).toBeDefined();
  expect(existsSync(join(stateDir, 'restored-objects.json'))).toBe(false);
});

test('etcd alone was lost: what Kubernetes shows is made again from the events', async () => {
  await stop();
  rmSync(join(stateDir, 'kubernetes', 'etcd'), { recursive: true });
  await start();
  await untilBack('stays');
  expect(conditionOf(await hub.cluster('banned'), 'Accepted')?.status).toBe('False');
  await untilProvisioned('stays');
  const printed = await cli('restore', backupFile, '--objects');
  expect(printed.stdout).toContain('kind: ApprovalPolicy');
  // A policy that holds is not taken back by an object that is merely gone: nobody with the right has said so.
  const { stdout } = await cli('verify');
  expect(stdout).toContain('DeclarationDiffers  ApprovalPolicy/hold-some');
  const isPolicy = (text: string) => text.includes('kind: ApprovalPolicy');
  await applyManifests(hub.up.admin, printed.stdout.split(/^---$/m).filter(isPolicy));
  await until('it is what the events say', async () => (await cli('verify')).code === 0);
});

test('a backup without keys is restored where the keys still are', async () => {
  await stop();
  const made = await cli('restore', keylessFile, '--keep-kubernetes');
  expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining('epoch 4 begins') });
  await start();
  await untilBack('stays');
});

test('killed in its last step, it leaves nothing that starts as a hub, and is done again', async () => {
  await stop();
  // As it is between the two halves of that step: the old hub is aside, the new one not yet in its place.
  const [restoring, aside] = [join(stateDir, 'restoring'), join(stateDir, 'before-restore-now')];
  for (const directory of [restoring, aside]) mkdirSync(directory);
  const hubFile = JSON.parse(readFileSync(join(stateDir, 'hub.json'), 'utf8')) as object;
  writeFileSync(join(restoring, 'hub.json'), JSON.stringify({ ...hubFile, epoch: 8 }));
  renameSync(join(stateDir, 'hub.json'), join(aside, 'hub.json'));
  await expect(startTestEmbeddedHub({ stateDir })).rejects.toMatchObject({ code: 'RESTORE_UNFINISHED' });
  const made = await cli('restore', backupFile, '--passphrase-file', passphraseFile, '--keep-kubernetes');
  // No epoch has the number of another one, also not of one that never began.
  expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining('epoch 9 begins') });
  await start();
  await untilBack('stays');
});
