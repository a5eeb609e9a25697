import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { accessFromKubeconfig, loadKubeAccess } from './kubeconfig.ts';
import { kubeconfigYaml } from './write-kubeconfig.ts';

const folder = mkdtempSync(join(tmpdir(), 'kubeconfig-'));
afterAll(() => rmSync(folder, { recursive: true }));
const write = (name: string, text: string, mode = 0o600): string => {
  const path = join(folder, name);
  writeFileSync(path, text, { mode });
  return path;
};

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const config = (change: { cluster?: string; user?: string; context?: string } = {}): string => `
apiVersion: v1
kind: Config
current-context: one
clusters:
- {name: c1, cluster: {server: 'https://one:6443', ${change.cluster ?? ''}}}
users:
- {name: u1, user: {${change.user ?? 'token: t1'}}}
contexts:
- {name: one, context: {cluster: c1, user: u1, ${change.context ?? ''}}}
- {name: broken, context: {cluster: nowhere, user: u1}}
`;
const load = (text: string, context?: string) =>
  accessFromKubeconfig([{ path: join(folder, 'config'), text }], context);

describe('kubeconfig', () => {
  test('the current context, with what stands in the file', () => {
    const text = config({
      cluster: `certificate-authority-data: ${base64('CA')}, tls-server-name: other`,
      user: `client-certificate-data: ${base64('CERT')}, client-key-data: ${base64('KEY')}`,
      context: 'namespace: n1',
    });
    expect(load(text)).toEqual({
      server: 'https://one:6443',
      caPem: 'CA',
      tlsServerName: 'other',
      token: undefined,
      certPem: 'CERT',
      keyPem: 'KEY',
      namespace: 'n1',
      clusterName: 'c1',
      contextName: 'one',
      userName: 'u1',
    });
  });

  test('a field that is empty says nothing, as with kubectl', async () => {
    write('ca.crt', 'CA FILE');
    write('token', 'T FILE\n');
    const access = load(
      config({
        cluster: `certificate-authority-data: '', certificate-authority: ca.crt, proxy-url: '', tls-server-name: ''`,
        user: `token: '', tokenFile: token, client-certificate-data: '', client-key-data: ''`,
        context: `namespace: ''`,
      }),
    );
    const { token, ...others } = access;
    expect(others).toMatchObject({ caPem: 'CA FILE', namespace: 'default' });
    expect([others.tlsServerName, others.certPem, others.keyPem]).toEqual([undefined, undefined, undefined]);
    expect(typeof token === 'function' && (await token())).toBe('T FILE');
  });

  test('of a token and a file with one the file counts, which somebody renews', async () => {
    write('token', 'T FILE\n');
    const tokenOf = async (user: string) => {
      const { token } = load(config({ user }));
      return typeof token === 'function' ? token() : token;
    };
    expect(await tokenOf('token: stale, tokenFile: token')).toBe('T FILE');
    expect(await tokenOf('token: kept, tokenFile: nowhere')).toBe('kept');
  });

  test('paths are relative to the file', async () => {
    write('ca.crt', 'CA FILE');
    write('token', 'T FILE\n');
    const access = load(config({ cluster: 'certificate-authority: ca.crt', user: 'tokenFile: token' }));
    expect(access.caPem).toBe('CA FILE');
    expect(typeof access.token === 'function' && (await access.token())).toBe('T FILE');
  });

  test('what is written is read back', () => {
    const access = load(config({ cluster: `certificate-authority-data: ${base64('CA')}` }));
    expect(load(kubeconfigYaml(access))).toEqual(access);
  });

  test('a credential plugin gives the token, once', async () => {
    const answer = { kind: 'ExecCredential', status: { token: 'from plugin' } };
    const script = `#!/bin/sh\necho run >> runs\necho '${JSON.stringify(answer)}'\n`;
    chmodSync(write('plugin', script), 0o700);
    const user = 'exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin}';
    const { token } = load(config({ user }));
    if (typeof token !== 'function') throw new TypeError('a token source was expected');
    expect(await Promise.all([token(), token()])).toEqual(['from plugin', 'from plugin']);
    expect(await token()).toBe('from plugin');
  });

  test.each([
    { name: 'an unknown context', text: config(), context: 'two', code: 'KUBE_CONTEXT_UNKNOWN' },
    { name: 'an unknown cluster', text: config(), context: 'broken', code: 'KUBECONFIG_INVALID' },
    { name: 'no current context', text: 'clusters: []', code: 'KUBE_CONTEXT_UNKNOWN' },
    {
      name: 'skipped verification',
      text: config({ cluster: 'insecure-skip-tls-verify: true' }),
      code: 'KUBECONFIG_INVALID',
    },
    { name: 'plain http', text: config().replace('https:', 'http:'), code: 'KUBECONFIG_INVALID' },
    { name: 'broken YAML', text: 'users: [{token: SECRET', code: 'KUBECONFIG_INVALID' },
    { name: 'another shape', text: 'users: SECRET', code: 'KUBECONFIG_INVALID' },
    { name: 'a missing file', text: config({ user: 'client-key: gone' }), code: 'KUBECONFIG_INVALID' },
  ])('refuses $name, without a secret in the message', ({ text, context, code }) => {
    expect(() => load(text, context)).toThrow(expect.objectContaining({ code }));
    expect(() => load(text, context)).not.toThrow(/SECRET/);
  });
});

describe('files', () => {
  beforeEach(() => {
    delete process.env['KUBECONFIG'];
  });

  test('KUBECONFIG may name several: the first entry of a name counts, missing files do not', () => {
    const other = config({ user: 'token: shadowed' }).replace('name: one,', 'name: second,');
    const paths = [join(folder, 'missing'), write('a', config()), write('b', other)];
    process.env['KUBECONFIG'] = paths.join(':');
    expect(loadKubeAccess()).toMatchObject({ contextName: 'one', token: 't1' });
    expect(loadKubeAccess({ context: 'second' })).toMatchObject({ contextName: 'second', token: 't1' });
  });

  test('a file that was named must be there', () => {
    const path = join(folder, 'missing');
    expect(() => loadKubeAccess({ path })).toThrow(expect.objectContaining({ code: 'KUBECONFIG_INVALID' }));
  });
});
