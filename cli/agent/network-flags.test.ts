import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { networkOf, networkTextsOf, throughProxy } from './network-flags.ts';

const environment = { HTTPS_PROXY: 'http://of-environment:3128', no_proxy: 'example.org, 192.0.2.0/24' };

function aFile(text: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'rollcall-network-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, 'file'), text);
  return join(directory, 'file');
}

test.each([
  { name: 'nothing', flags: {}, kept: {}, variables: {}, proxy: undefined, noProxy: undefined },
  {
    name: 'the environment, which never means this machine',
    flags: {},
    kept: {},
    variables: environment,
    proxy: 'http://of-environment:3128',
    noProxy: 'example.org,192.0.2.0/24,localhost,127.0.0.0/8,::1',
  },
  {
    name: 'the Secret over the environment',
    flags: {},
    kept: { proxy: 'http://of-secret:3128', noProxy: 'hub' },
    variables: environment,
    proxy: 'http://of-secret:3128',
    noProxy: 'hub',
  },
  {
    name: 'a flag over both',
    flags: { proxy: 'http://of-flag:3128' },
    kept: { proxy: 'http://of-secret:3128' },
    variables: environment,
    proxy: 'http://of-flag:3128',
    noProxy: 'example.org,192.0.2.0/24',
  },
])('the proxy of $name', ({ flags, kept, variables, proxy, noProxy }) => {
  expect(networkTextsOf(flags, kept, variables)).toMatchObject(proxy === undefined ? {} : { proxy, noProxy });
  expect(networkTextsOf(flags, kept, variables).proxy).toBe(proxy);
});

test('a proxy and its CA from files, so that its password is in no process list', () => {
  const proxy = `file:${aFile('http://me:s3cret@proxy:3128\n')}`;
  const texts = networkTextsOf({ proxy, proxyCaFile: aFile('PEM') }, {}, {});
  expect(texts).toMatchObject({ proxy: 'http://me:s3cret@proxy:3128', proxyCaBundle: 'PEM' });
});

test('what is wrong is said without the password', () => {
  expect(() => networkOf({ proxy: 'ftp://me:s3cret@proxy' })).toThrow(
    expect.objectContaining({ code: 'USAGE', message: expect.not.stringContaining('s3cret') }),
  );
  expect(() => networkOf({ hostAlias: ['hub=nowhere'] })).toThrow(expect.objectContaining({ code: 'USAGE' }));
});

test('people are told which proxy an address is reached through, and never what it asks for', () => {
  const network = networkOf(
    { proxy: 'http://me:s3cret@proxy:3128', hostAlias: ['b=192.0.2.7'] },
    { noProxy: '192.0.2.0/24' },
  );
  const [a, b] = [
    { host: 'a', port: 4222 },
    { host: 'b', port: 4222 },
  ];
  expect(throughProxy([a], network)).toBe(' through the proxy http://proxy:3128');
  expect(throughProxy([a, b], network)).toBe(', some of them through the proxy http://proxy:3128');
  expect(throughProxy([b], network)).toBe('');
});
