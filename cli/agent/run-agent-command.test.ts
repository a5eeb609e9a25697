import { expect, test } from 'vitest';
import { bootstrapFrom } from './run-agent-command.ts';

const encoded = (data: Record<string, string>) =>
  Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')]));

test.each([
  {
    name: 'a hash of the CA',
    data: { hub: 'a:1,b:2', caBundle: '', caCertHash: 'sha256:00,sha256:11', token: 'rc1.a.b\n' },
    want: { hub: 'a:1,b:2', trust: { pins: ['sha256:00', 'sha256:11'] }, token: 'rc1.a.b' },
  },
  {
    name: 'the CA itself',
    data: { hub: 'a:1', caBundle: 'PEM', caCertHash: '', token: '' },
    want: { hub: 'a:1', trust: { caPem: 'PEM' }, token: undefined },
  },
])('the bootstrap Secret with $name', ({ data, want }) => {
  expect(bootstrapFrom(encoded(data))).toEqual(want);
});

test('without a Secret nothing is known', () => {
  expect(bootstrapFrom(undefined)).toEqual({ hub: undefined, trust: undefined, token: undefined });
});
