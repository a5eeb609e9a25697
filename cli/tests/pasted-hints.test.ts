import { execFile } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { connectBus } from '@rollcall/shared/bus';
import type { ErrorCode } from '@rollcall/shared/errors';
import { type KubeObject, kubeconfigYaml, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestEmbeddedHub, type TestEmbeddedHub, until } from '../../tests/harness/embedded.ts';
import { findBinary } from '../up/binaries.ts';
import { type CliResult, runCli } from './run-cli.ts';

/** What an error says to run is run, as somebody pastes it who knows nothing else, on one hub. */
let hub: TestEmbeddedHub;
let environment: Record<string, string>;
const run = (...args: string[]) => runCli(args, { environment });
const inState = (...path: string[]) => join(hub.up.stateDir, ...path);

/** More than all rows but the one of a bulk change take together. */
const putOutAMinute = 6;

async function connectedAs<Result>(identity: string, work: (nc: NatsConnection) => Promise<Result>) {
  const { bus } = JSON.parse(readFileSync(inState('identities', `${identity}.json`), 'utf8'));
  const nc = await connectBus(hub.up.natsAddress, bus, identity);
  return work(nc).finally(() => nc.close());
}

async function hold(pattern: string): Promise<void> {
  await hub.up.admin.create(resources.approvalPolicies, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ApprovalPolicy',
    metadata: { name: 'holds' },
    spec: { rules: [{ name: 'waits', when: `request.clusterName.matches("${pattern}")`, effect: 'Hold' }] },
  } as KubeObject);
  await until('the policy is declared', async () => {
    const { newest } = await hub.log.read({ kind: 'policy', id: 'holds' });
    return newest?.type === 'declared';
  });
}

beforeAll(async () => {
  hub = await startTestEmbeddedHub({
    settings: { registrar: { spaceInterval: '1s' }, approver: { bulkPerMinute: String(putOutAMinute) } },
  });
  cpSync(hub.up.plane.adminKubeconfigPath, inState('kubeconfig'));
  environment = {
    ROLLCALL_HOME: hub.up.stateDir,
    KUBECONFIG: inState('kubeconfig'),
    XDG_CONFIG_HOME: inState('config'),
  };
  await hold('^waits-');
  const system = await hub.up.admin.get(resources.namespaces, { name: 'kube-system' });
  const token = (await hub.createToken({ uses: 'unlimited' })).text;
  await hub.startAgent({ name: 'member', token });
  await hub.startAgent({ name: 'own', clientId: system?.metadata.uid ?? '', token });
  await hub.untilReady('member');
  await hub.untilReady('own');
});
afterAll(() => hub[Symbol.asyncDispose]());

/** Registers a cluster that is told apart by its client id, and gives up soon. */
function register(
  clientId: string,
  token: string,
  { name = clientId, keys = clientId, pin = hub.up.hub.caCertHash, timeout = '20s' } = {},
): Promise<CliResult> {
  const [address = ''] = hub.up.addresses;
  const member = ['--member-kubeconfig', inState('kubeconfig'), '--client-id', clientId];
  const where = ['--cluster-name', name, '--state-dir', inState('keys', keys)];
  const told = { ...environment, ROLLCALL_TOKEN: token };
  const args = ['register', address, '--ca-cert-hash', pin, ...member, ...where, '--run'];
  return runCli([...args, '--timeout', timeout], { environment: told });
}

const aToken = async (spec: Record<string, unknown> = {}) => (await hub.createToken(spec)).text;
const nobody = () => {
  const path = inState('nobody.kubeconfig');
  writeFileSync(path, kubeconfigYaml(hub.up.plane.userAccess('nobody')), { mode: 0o600 });
  return path;
};

interface Row {
  readonly code: ErrorCode;
  /** Ends in that error. */
  readonly fail: () => Promise<CliResult>;
  /** What of its text is pasted, up to the backtick or the end of the line. */
  readonly line: RegExp;
  /** For what the line leaves open. */
  readonly fill?: Readonly<Record<string, () => string>>;
  /** As docs/cli.md has it; 0 where nothing else is said. */
  readonly ends?: number;
  readonly says?: RegExp;
  /** Added to what is pasted: a busy machine takes longer than a person waits. */
  readonly patience?: readonly string[];
  /** So that the next row finds what it needs. */
  readonly more?: readonly string[];
}

let held: readonly CliResult[];
const quick = ['--timeout', '0s'];
const patient = ['--timeout', '4m'];
const rows: readonly Row[] = [
  { code: 'NOT_FOUND', fail: () => run('describe', 'cluster', 'nobody'), line: /`(rollcall get clusters)`/ },
  {
    code: 'KUBE_API',
    fail: () => run('get', 'clusters', '--kubeconfig', nobody()),
    line: /`(rollcall doctor)`/,
  },
  {
    code: 'KUBE_CONTEXT_UNKNOWN',
    fail: () => run('get', 'clusters', '--context', 'nowhere'),
    line: /`(kubectl config get-contexts)`/,
    says: /CURRENT +NAME/,
  },
  {
    code: 'KUBECONFIG_INVALID',
    fail() {
      writeFileSync(inState('torn.kubeconfig'), 'contexts: [');
      return run('get', 'clusters', '--kubeconfig', inState('torn.kubeconfig'));
    },
    line: /`(kubectl config view --kubeconfig FILE)`/,
    fill: { FILE: () => inState('torn.kubeconfig') },
    // It names the line that cannot be read.
    ends: 1,
    says: /yaml|error/i,
  },
  {
    code: 'BUS_REFUSED',
    fail: () => run('dead', 'list', '--creds', inState('ops.creds')),
    line: /`(rollcall context export)`/,
  },
  {
    code: 'DEADLINE_EXCEEDED',
    fail: () => run('token', 'create', '--wait', ...quick, '--publish'),
    line: /`(rollcall doctor)`/,
  },
  {
    code: 'TOKEN_INVALID',
    fail: () => run('token', 'delete', 'rc1.torn', '--yes'),
    line: /`(rollcall token create)`/,
    says: /^rc1\./m,
  },
  {
    code: 'HUB_CA_WRONG',
    fail: async () => register('pinned', await aToken(), { pin: `sha256:${'0'.repeat(64)}` }),
    line: /`(rollcall token create --print-register-command)`/,
    says: /rollcall register .*--ca-cert-hash/,
  },
  {
    code: 'TOKEN_UNKNOWN',
    async fail() {
      const token = await aToken();
      await run('token', 'delete', token, '--yes');
      return register('unknown', token);
    },
    line: /`(rollcall token list)`/,
    says: /^NAME/m,
  },
  {
    code: 'TOKEN_USED_UP',
    async fail() {
      const token = await aToken({ uses: 1 });
      await hub.startAgent({ name: 'first', token });
      await hub.untilReady('first');
      return register('second', token);
    },
    line: /`(rollcall token create)`/,
    says: /^rc1\./m,
  },
  {
    code: 'TOKEN_EXPIRED',
    async fail() {
      const token = await aToken({ ttl: '1s' });
      await until('it has expired', async () => {
        const tokens = await hub.up.admin.list(resources.clusterRegistrationTokens);
        return JSON.stringify(tokens).includes('"Expired"');
      });
      return register('late', token);
    },
    line: /`(rollcall token create)`/,
    says: /^rc1\./m,
  },
  {
    code: 'REQUEST_HELD',
    fail: async () => register('waits-1', await aToken(), { timeout: '5s' }),
    line: /`(rollcall describe request NAME)`/,
    fill: { NAME: () => 'waits-1' },
    says: /rollcall approve waits-1/,
  },
  {
    code: 'REQUEST_OPEN',
    fail: async () => register('waits-1', await aToken(), { keys: 'other', timeout: '5s' }),
    line: /`(rollcall deny NAME)`/,
    fill: { NAME: () => 'waits-1' },
    says: /is denied/,
  },
  {
    code: 'NAME_TAKEN',
    async fail() {
      await hub.startAgent({ name: 'holder', token: await aToken() });
      await hub.untilReady('holder');
      return register('another', await aToken(), { name: 'holder' });
    },
    line: /`(rollcall unregister NAME)`/,
    fill: { NAME: () => 'holder' },
  },
  {
    code: 'REQUEST_FAILED',
    // Of the request that was refused just now.
    fail: () => run('approve', '--id', 'another'),
    line: /`(rollcall get requests -o yaml)`/,
    says: /reason: NameTaken/,
  },
  {
    code: 'USAGE',
    async fail() {
      await register('member', await aToken(), { keys: 'reinstalled', timeout: '5s' });
      return run('approve', 'member');
    },
    // The message has the whole command, in no backticks.
    line: /: (rollcall approve member --replace-key \S+)/,
    says: /is approved/,
  },
  {
    code: 'CLUSTER_BANNED',
    async fail() {
      const token = await aToken({ uses: 'unlimited' });
      await hub.startAgent({ name: 'banned', token });
      await hub.untilReady('banned');
      const banned = await run('ban', 'banned');
      expect(banned.code, banned.stderr).toBe(0);
      return register('banned', token, { timeout: '8s' });
    },
    line: /`(rollcall unban NAME)`/,
    fill: { NAME: () => 'banned' },
  },
  {
    code: 'ID_TAKEN',
    fail: () => run('join', 'own-again', '--member-kubeconfig', inState('kubeconfig')),
    line: /`(rollcall unregister NAME)`/,
    // The name that is said.
    fill: { NAME: () => 'own' },
  },
  {
    code: 'ROTATION_NOT_DUE',
    async fail() {
      await run('trust', 'rotate', 'service-keys');
      return run('trust', 'rotate', 'service-keys');
    },
    line: /`(rollcall trust status)`/,
  },
  {
    code: 'RETRY_IN_VAIN',
    async fail() {
      // What no service can read.
      await connectedAs('approver', (nc) => nc.request('rollcall.events.cluster.torn.approved', 'torn'));
      await until('it is a dead letter', async () => (await run('dead', 'list')).stdout.includes('torn'));
      return run('dead', 'retry', '--all');
    },
    line: /`(rollcall dead list -o wide)`/,
    says: /cluster\.torn\.approved/,
  },
  {
    code: 'BULK_HELD',
    async fail() {
      const token = await aToken({ uses: 'unlimited' });
      const names = Array.from({ length: putOutAMinute + 1 }, (_, at) => `many-${at}`);
      for (const name of names) await hub.startAgent({ name, token });
      for (const name of names) await hub.untilReady(name);
      // One after the other they may take longer than the minute that counts.
      const revoked = await Promise.all(names.map((name) => run('revoke', name, ...patient)));
      // The last of them alone is told the id of the whole list: nobody gives up before.
      held = revoked.filter(({ code }) => code !== 0);
      expect(held.filter(({ stderr }) => !stderr.includes('code: BULK_HELD'))).toEqual([]);
      expect(held).not.toEqual([]);
      return held[0] as CliResult;
    },
    line: /`(rollcall get operations)`/,
    says: /many-\d/,
  },
  {
    code: 'BULK_HELD',
    // What was put out before may count as well, so that there are two; the id that the first was told ended with the second.
    async fail() {
      const idOf = ({ stderr }: CliResult) => /b-[0-9a-f]+/.exec(stderr)?.[0] ?? 'none';
      return until('what waits is shown', async () => {
        const { stdout } = await run('get', 'operations');
        return held.find((each) => stdout.includes(idOf(each)));
      });
    },
    line: /`(rollcall confirm b-[0-9a-f]+)`/,
    patience: patient,
    says: /is confirmed/,
  },
  {
    code: 'HUB_FULL',
    async fail() {
      const token = await aToken();
      await connectedAs('setup', async (nc) => {
        const jsm = await jetstreamManager(nc);
        const { config, state } = await jsm.streams.info('EVENTS');
        await jsm.streams.update('EVENTS', { ...config, max_bytes: Math.floor(state.bytes / 0.9) });
      });
      // Who is let in before that stays in, and its agent runs on.
      await until('the registrar has seen it', async () => {
        const { stdout } = await run('status');
        return stdout.includes('new requests are refused');
      });
      return register('no-room', token, { timeout: '15s' });
    },
    line: /`(rollcall history archive --to DIR)`/,
    fill: { DIR: () => join(hub.up.stateDir, '..') },
    says: /--older-than 4d/,
  },
  {
    code: 'STATE_NOT_EMPTY',
    async fail() {
      writeFileSync(inState('passphrase'), 'correct horse battery staple');
      const sealed = ['--passphrase-file', inState('passphrase')];
      const kept = await run('backup', inState('hub.backup'), ...sealed);
      expect(kept.code, kept.stderr).toBe(0);
      return run('restore', inState('hub.backup'), ...sealed);
    },
    // A flag for the same command.
    line: /\(`(--state-dir DIR)`\)/,
    fill: {
      DIR: () => join(hub.up.stateDir, '..', 'drill'),
    },
    more: ['restore', 'hub.backup', '--passphrase-file', 'passphrase'],
    says: /epoch 2 begins/,
  },
];

const kubectl = (args: readonly string[]): Promise<CliResult> =>
  promisify(execFile)(findBinary('kubectl'), [...args], { env: { ...process.env, ...environment } }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );

function paste(words: readonly string[]): Promise<CliResult> {
  const [program = '', ...args] = words;
  return program === 'kubectl' ? kubectl(args) : run(...args);
}

test.each(rows)('what $code says to run helps: $line', async ({ code, fail, line, fill = {}, ...row }) => {
  const failed = await fail();
  expect(failed.stderr).toContain(`code: ${code}\n`);
  expect(failed.code).not.toBe(0);
  const [, printed] = line.exec(failed.stderr) ?? [];
  expect(printed, failed.stderr).toBeDefined();
  const filled = (printed ?? '').split(' ').map((word) => fill[word]?.() ?? word);
  const files = (row.more ?? []).map((word) =>
    /^(hub\.backup|passphrase)$/.test(word) ? inState(word) : word,
  );
  const command = files.length > 0 ? ['rollcall', ...files, ...filled] : filled;
  const pasted = await paste([...command, ...(row.patience ?? [])]);
  const all = pasted.stdout + pasted.stderr;
  expect(pasted.code, all).toBe(row.ends ?? 0);
  expect(all).toMatch(row.says ?? /(?:)/);
});

test('at least twenty-three codes are pasted', () => {
  expect(new Set(rows.map(({ code }) => code)).size).toBeGreaterThanOrEqual(23);
});
