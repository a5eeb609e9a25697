import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { chartValues, registerCommand } from './index.ts';

const hub = {
  hubId: 'HUB',
  addresses: ['hub.example.org:4222', 'other:443'],
  caPem: '-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----\n',
  epoch: 1,
  caCertHash: 'sha256:00ff',
};

test.each([
  { name: 'any cluster', about: {}, want: { clusterName: '', clientID: '' } },
  { name: 'one name', about: { clusterName: 'edge-1' }, want: { clusterName: 'edge-1', clientID: '' } },
  {
    name: 'a pattern, which is no name',
    about: { clusterName: 'edge-?' },
    want: { clusterName: '', clientID: '' },
  },
  {
    name: 'one client id',
    about: { clientId: 'a: "b" #' },
    want: { clusterName: '', clientID: 'a: "b" #' },
  },
])('values of a token for $name', ({ about, want }) => {
  expect(parse(chartValues(hub, { text: 'rc1.a.b', ...about }))).toEqual({
    hub: 'hub.example.org:4222,other:443',
    caBundle: hub.caPem,
    caCertHash: hub.caCertHash,
    token: 'rc1.a.b',
    ...want,
    labels: {},
  });
});

test('the command of a token for one client id names it', () => {
  const command = registerCommand(hub, { token: 't', clientId: 'shop 7' });
  expect(command).toContain("--client-id 'shop 7' --run");
});
