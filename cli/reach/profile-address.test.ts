import { expect, test } from 'vitest';
import { endOfToken, refusedWay } from './profile-address.ts';

const hub = 'https://hub:6443';
const way = '/apis/proxy.rollcall.dev/v1alpha1/managedclusters/edge-1/proxy';

test.each([
  { name: 'a member', server: hub + way },
  { name: 'a member, by its own path', server: `${hub}${way}/` },
  { name: 'a member of a hub below a path', server: `${hub}/api${way}`, at: `${hub}/api/` },
])('a token is given for $name', ({ server, at = hub }) => {
  expect(refusedWay(server, at)).toBeUndefined();
});

test.each([
  { name: 'another host', server: `https://elsewhere:6443${way}` },
  { name: 'another port', server: `https://hub:6444${way}` },
  { name: 'no TLS', server: `http://hub:6443${way}` },
  { name: 'a name that begins like the hub', server: `https://hub.elsewhere:6443${way}` },
  { name: 'the hub as a user name', server: `https://hub:6443@elsewhere${way}` },
  { name: 'the hub itself', server: hub },
  { name: 'somewhere else on the hub', server: `${hub}/apis/proxy.elsewhere/v1${way}` },
  { name: 'a way out of the path', server: `${hub}${way}/../../../../..` },
  { name: 'no address', server: 'edge-1' },
])('a token is not given for $name', ({ server }) => {
  expect(refusedWay(server, hub)).toContain(`leads to "${server}"`);
});

test.each([
  { name: 'by a proxy', on: { 'proxy-url': 'http://elsewhere:3128' } },
  { name: 'whoever answers there', on: { 'insecure-skip-tls-verify': true } },
])('nor for a member, $name', ({ on }) => {
  expect(refusedWay(hub + way, hub, on)).toContain('the ClusterProfile');
});

test('what says nothing of the way is nothing', () => {
  const on = { 'proxy-url': '', 'insecure-skip-tls-verify': false };
  expect(refusedWay(hub + way, hub, on)).toBeUndefined();
});

test('nor to who does not say where it goes, nor by who does not know the hub', () => {
  expect(refusedWay(undefined, hub)).toContain('provideClusterInfo');
  expect(refusedWay(hub + way, undefined)).toContain('--hub');
});

test('a token says when it ends, or nothing', () => {
  const claims = Buffer.from(JSON.stringify({ exp: Date.UTC(2026, 0, 1) / 1000 })).toString('base64url');
  expect(endOfToken(`e30.${claims}.c2ln`)).toBe('2026-01-01T00:00:00.000Z');
  expect(['', 'opaque', 'e30.e30.c2ln'].map(endOfToken)).toEqual([undefined, undefined, undefined]);
});
