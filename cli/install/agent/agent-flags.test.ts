import { createRegistrationToken } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { agentValuesOf } from './agent-flags.ts';

const { text: token } = createRegistrationToken('0123456789abcdef');
const trust = { pins: [`sha256:${'0'.repeat(64)}`] };
const flags = { hub: ['hub.example.org:4222'], token };

test('every flag that says something of the agent is among its values', () => {
  const all = {
    ...flags,
    clusterName: 'edge-1',
    clientId: 'Shop 7',
    labels: 'region=eu',
    clusterType: 'Edge',
    image: 'i',
  } as const;
  expect(agentValuesOf(all, trust)).toMatchObject({
    hub: 'hub.example.org:4222',
    caCertHash: trust.pins[0],
    token,
    clusterName: 'edge-1',
    clientID: 'Shop 7',
    labels: { region: 'eu' },
    clusterType: 'Edge',
    image: 'i',
  });
});

test.each([
  { what: 'a name that is none', given: { clusterName: 'Edge_1' }, says: 'clusterName' },
  { what: 'a client id that no request carries', given: { clientId: 'x'.repeat(254) }, says: 'clientID' },
  { what: 'a token that is none', given: { token: 'rc1.a.b' }, says: 'token' },
  { what: 'a label that is none', given: { labels: 'a b=c' }, says: 'is not of the form key=value' },
])('$what is refused here, not in the pod', ({ given, says }) => {
  expect(() => agentValuesOf({ ...flags, ...given }, trust)).toThrow(says);
});
