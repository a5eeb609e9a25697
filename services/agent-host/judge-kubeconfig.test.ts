import { RollcallError } from '@rollcall/shared/errors';
import { createCa, issueCertificate } from '@rollcall/shared/trust';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { createMemberAccess } from './member-access.ts';
import { readMemberKubeconfig } from './judge-kubeconfig.ts';
import { type AddressRules, createAddressJudge } from './refused-address.ts';

const nowMs = Date.UTC(2026, 0, 1);
const ca = createCa({ commonName: 'member CA', validForDays: 30, nowMs });
const clientCertificate = (commonName: string) =>
  issueCertificate({
    ca,
    commonName,
    dnsNames: [],
    ipAddresses: [],
    usages: ['client'],
    validForMs: 86_400_000,
    nowMs,
  });
const client = clientCertificate('person');
const other = clientCertificate('other');
const base64 = (text: string) => Buffer.from(text).toString('base64');
const secretToken = 'secret-token-of-the-member';

const rules: AddressRules = {
  allowLoopback: false,
  hub: [
    { host: 'hub.example', port: 6443 },
    { host: '10.0.0.5', port: 6443 },
  ],
  refusedRanges: [],
};

interface Overrides {
  readonly cluster?: object;
  readonly user?: object;
  readonly file?: object;
  readonly rules?: Partial<AddressRules>;
}

function textOf({ cluster = {}, user = {}, file = {} }: Overrides): string {
  return stringify({
    'current-context': 'one',
    contexts: [{ name: 'one', context: { cluster: 'c', user: 'u' } }],
    clusters: [
      {
        name: 'c',
        cluster: {
          server: 'https://member.example:6443',
          'certificate-authority-data': base64(ca.certificatePem),
          ...cluster,
        },
      },
    ],
    users: [{ name: 'u', user: { token: secretToken, ...user } }],
    ...file,
  });
}

const read = (overrides: Overrides = {}) =>
  readMemberKubeconfig(textOf(overrides), createAddressJudge({ ...rules, ...overrides.rules }));

function messageOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    const isOurs = error instanceof RollcallError && error.code === 'MEMBER_KUBECONFIG_REFUSED';
    return isOurs ? error.message : `another error: ${String(error)}`;
  }
  return 'taken';
}

test('inline credentials are taken, under names of ours', () => {
  expect(read()).toEqual({
    server: 'https://member.example:6443',
    caPem: ca.certificatePem,
    certPem: undefined,
    keyPem: undefined,
    tlsServerName: undefined,
    token: secretToken,
    namespace: 'default',
    clusterName: 'member',
    contextName: 'member',
    userName: 'member',
  });
});

test('a client certificate with its key is taken', () => {
  const user = {
    token: undefined,
    'client-certificate-data': base64(client.certificatePem),
    'client-key-data': base64(client.privateKeyPem),
  };
  expect(read({ user })).toMatchObject({ certPem: client.certificatePem, keyPem: client.privateKeyPem });
});

describe('what would have the hub do anything else is refused', () => {
  test.each<[string, Overrides]>([
    ['a credential plugin (exec)', { user: { exec: { apiVersion: 'v1', command: '/bin/sh' } } }],
    ['an authentication plugin (auth-provider)', { user: { 'auth-provider': { name: 'gcp' } } }],
    ['a path to a file (tokenFile)', { user: { tokenFile: '/var/run/secrets/token' } }],
    ['a path to a file (client-certificate)', { user: { 'client-certificate': '/etc/passwd' } }],
    ['a path to a file (client-key)', { user: { 'client-key': '/etc/passwd' } }],
    ['a path to a file (certificate-authority)', { cluster: { 'certificate-authority': '/etc/passwd' } }],
    [
      'TLS that verifies nobody (insecure-skip-tls-verify)',
      { cluster: { 'insecure-skip-tls-verify': true } },
    ],
    ['a proxy (proxy-url)', { cluster: { 'proxy-url': 'http://169.254.169.254' } }],
    ['impersonation (as)', { user: { as: 'system:admin' } }],
    ['impersonation (as-groups)', { user: { 'as-groups': ['system:masters'] } }],
    ['impersonation (as-uid)', { user: { 'as-uid': '1' } }],
    ['impersonation (as-user-extra)', { user: { 'as-user-extra': { a: ['b'] } } }],
    ['a password (password)', { user: { password: 'p' } }],
  ])('%s', (what, overrides) => {
    expect(messageOf(() => read(overrides))).toBe(
      `the kubeconfig asks for ${what}; only inline credentials are taken`,
    );
  });

  test('and a field that nobody knows, without its name', () => {
    expect(messageOf(() => read({ user: { 'secret-in-the-key': 1 } }))).toBe(
      'the kubeconfig has a field that is not known; only inline credentials are taken',
    );
  });
});

test('what says nothing, as tools write it, is nothing', () => {
  expect(
    read({ cluster: { 'insecure-skip-tls-verify': false, 'proxy-url': '' }, user: { exec: null } }).token,
  ).toBe(secretToken);
});

describe('a server is refused that is', () => {
  test.each<[string, string]>([
    ['https://127.0.0.1:6443', 'names a server whose address is a loopback address'],
    ['https://127.1:6443', 'names a server whose address is a loopback address'],
    ['https://2130706433', 'names a server whose address is a loopback address'],
    ['https://0x7f.0.0.1', 'names a server whose address is a loopback address'],
    ['https://[::1]:6443', 'names a server whose address is a loopback address'],
    ['https://[::ffff:127.0.0.1]:6443', 'names a server whose address is a loopback address'],
    ['https://localhost:6443', 'names a server whose address is a loopback address'],
    ['https://LOCALHOST.:6443', 'names a server whose address is a loopback address'],
    ['https://a.localhost:6443', 'names a server whose address is a loopback address'],
    [
      'https://169.254.169.254',
      'names a server whose address is a link-local, multicast or unspecified address',
    ],
    [
      'https://0.0.0.0:6443',
      'names a server whose address is a link-local, multicast or unspecified address',
    ],
    ['https://[fe80::1]', 'names a server whose address is a link-local, multicast or unspecified address'],
    ['https://hub.example:6443', 'names a server whose address is an address of the hub itself'],
    ['https://HUB.example.:6443', 'names a server whose address is an address of the hub itself'],
    ['https://hub.example:4222', 'names a server whose address is an address of the hub itself'],
    ['https://10.0.0.5:4222', 'names a server whose address is an address of the hub itself'],
    ['http://member.example', 'names a server that is no https address'],
    ['file:///etc/passwd', 'names a server that is no https address'],
    ['member.example:6443', 'names a server that is no https address'],
    ['https://member.example@169.254.169.254', 'names a server with more than host, port and path'],
    ['https://user:pass@member.example', 'names a server with more than host, port and path'],
    ['https://member.example?x=1', 'names a server with more than host, port and path'],
    ['https://member.example#x', 'names a server with more than host, port and path'],
  ])('%s', (server, problem) => {
    expect(messageOf(() => read({ cluster: { server } }))).toBe(`the kubeconfig ${problem}`);
  });
});

test('on a developer machine loopback is allowed, and the hub is still refused', () => {
  const local = { allowLoopback: true, hub: [{ host: '127.0.0.1', port: 6443 }] };
  const at = (server: string) => messageOf(() => read({ cluster: { server }, rules: local }));
  expect(at('https://127.0.0.1:7443')).toBe('taken');
  expect(at('https://localhost:7443')).toBe('taken');
  expect(at('https://127.0.0.1:6443')).toBe(
    'the kubeconfig names a server whose address is an address of the hub itself',
  );
});

describe('what is torn or does not fit is refused', () => {
  test.each<[string, Overrides]>([
    ['has no current context', { file: { 'current-context': null } }],
    ['has no current context', { file: { 'current-context': 'two' } }],
    ['has a current context whose cluster or user is missing', { file: { users: [] } }],
    ['has no credentials', { user: { token: undefined } }],
    ['has a token that is none', { user: { token: 'a\r\nx-forged: 1' } }],
    ['has a TLS server name that is none', { cluster: { 'tls-server-name': 'a b' } }],
    [
      'has no certificate where its CA should be',
      { cluster: { 'certificate-authority-data': base64('none') } },
    ],
    [
      'has a client certificate without a key, or a key without one',
      { user: { 'client-key-data': base64(client.privateKeyPem) } },
    ],
    [
      'has certificates or a key that cannot be used',
      {
        user: {
          'client-certificate-data': base64(client.certificatePem),
          'client-key-data': base64(other.privateKeyPem),
        },
      },
    ],
  ])('%s', (problem, overrides) => {
    expect(messageOf(() => read(overrides))).toBe(`the kubeconfig ${problem}`);
  });

  test.each([
    ['', 'does not have the shape of one'],
    ['[', 'is not YAML, or too deep'],
    ['contexts: &a [*a]', 'does not have the shape of one'],
    [`x: ${'['.repeat(100)}`, 'is not YAML, or too deep'],
    ['x'.repeat(262_145), 'is longer than 262144 characters'],
  ])('%#', (text, problem) => {
    expect(messageOf(() => readMemberKubeconfig(text, createAddressJudge(rules)))).toBe(
      `the kubeconfig ${problem}`,
    );
  });
});

test('an address of the hub is refused also where the hub is known by a name', async () => {
  const judge = createAddressJudge({
    allowLoopback: true,
    hub: [{ host: 'localhost', port: 4222 }],
    refusedRanges: [],
  });
  const accessOf = createMemberAccess(judge);
  const to = (server: string) => accessOf(textOf({ cluster: { server } }));
  await expect(to('https://127.0.0.1:4222')).rejects.toMatchObject({ code: 'EADDRESSREFUSED' });
  await expect(to('https://127.0.0.1:6443')).resolves.toMatchObject({ server: 'https://127.0.0.1:6443' });
});
