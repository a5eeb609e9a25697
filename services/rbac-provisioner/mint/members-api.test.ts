import { expect, test } from 'vitest';
import { membersApiOf } from './members-api.ts';

const outside = { server: 'https://10.0.0.1:6443', caPem: 'CA', contextName: 'hub' };
const inPod = { ...outside, contextName: 'in-cluster' };

test.each([
  { name: 'by its own kubeconfig', config: {}, own: outside, want: outside.server },
  { name: 'as configured', config: { accessServer: 'https://hub:1' }, own: outside, want: 'https://hub:1' },
  {
    name: 'in a pod, as configured',
    config: { accessServer: 'https://hub:1' },
    own: inPod,
    want: 'https://hub:1',
  },
  {
    name: 'in a pod: nobody outside could reach what it uses itself',
    config: {},
    own: inPod,
    want: undefined,
  },
])('members reach the API server $name', ({ config, own, want }) => {
  expect(membersApiOf(config, own)?.server).toBe(want);
});

test('a CA that cannot be read stops the service, instead of members that trust nothing', () => {
  expect(() => membersApiOf({ accessCaFile: '/nowhere/ca.pem' }, outside)).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID' }),
  );
});
