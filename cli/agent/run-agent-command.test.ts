import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { directoryKeyStore } from '@rollcall/agent';
import { describe, expect, onTestFinished, test } from 'vitest';
import { bootstrapFrom, storeOfHub } from './run-agent-command.ts';

const encoded = (data: Record<string, string>) =>
  Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')]));

test.each([
  {
    name: 'a hash of the CA',
    data: { hub: 'a:1,b:2', caBundle: '', caCertHash: 'sha256:00,sha256:11', token: 'rc1.a.b\n' },
    want: {
      hub: 'a:1,b:2',
      trust: { pins: ['sha256:00', 'sha256:11'] },
      token: 'rc1.a.b',
      network: {},
    },
  },
  {
    name: 'the CA itself',
    data: { hub: 'a:1', caBundle: 'PEM', caCertHash: '', token: '', proxy: 'http://p:1' },
    want: {
      hub: 'a:1',
      trust: { caPem: 'PEM' },
      token: undefined,
      network: { proxy: 'http://p:1' },
    },
  },
])('the bootstrap Secret with $name', ({ data, want }) => {
  expect(bootstrapFrom(encoded(data))).toEqual(want);
});

test('without a Secret nothing is known', () => {
  expect(bootstrapFrom(undefined)).toEqual({
    hub: undefined,
    trust: undefined,
    token: undefined,
    network: {},
  });
});

describe('a changed hub registers again [RO-5]', () => {
  const tokenOf = (hubId: string) => `rc1.${hubId}.${'0'.repeat(26)}`;
  const state = {
    version: 1,
    seed: 'made-up',
    sealingSeed: 'made-up',
    clusterId: 'c',
    hubId: '0'.repeat(16),
  } as const;

  test.each([
    { name: 'no token at all', token: undefined, want: state },
    { name: 'another token of the same hub', token: tokenOf('0'.repeat(16)), want: state },
    { name: 'a token of another hub', token: tokenOf('1'.repeat(16)), want: undefined },
  ])('with $name', async ({ token, want }) => {
    const directory = mkdtempSync(join(tmpdir(), 'rollcall-keys-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const store = directoryKeyStore(directory);
    await store.save(state);
    expect(await storeOfHub(store, token).load()).toEqual(want);
  });
});
