import type { Identity, StoredEvent } from '@rollcall/shared/events';
import { expect, test, vi } from 'vitest';
import { type CalloutClaim, judgeReturning, judgeTokenHolder } from './callout-verdict.ts';
import { aDeclaration } from '../../../tests/harness/events.ts';
import { MemoryLog } from '../tests/memory-log.ts';

const claim = { nkey: 'UTOKEN', sig: 's', user: 'UAGENT', pass: 'p', name: 'id-1', nonce: 'n' };
const noToken = {
  ...new MemoryLog().read({ kind: 'token', id: 't' }),
  declaration: undefined,
  uses: undefined,
};
const aToken = (overrides = {}) => ({ ...noToken, declaration: aDeclaration(overrides) });
const yes = () => true;

test.each([
  { name: 'an unknown token', token: noToken },
  { name: 'a withdrawn token', token: aToken({ withdrawn: true }) },
  { name: 'a token under another key', token: aToken({ publicKey: 'UOTHER' }) },
])('$name is refused before any signature is looked at', ({ token }) => {
  const isProven = vi.fn<(key: string, signature: string) => boolean>(yes);
  expect(judgeTokenHolder(claim, token, isProven)).toEqual({ kind: 'refuse', reason: 'UnknownToken' });
  expect(isProven).not.toHaveBeenCalled();
});

test.each([
  { name: 'nobody proves the token', isProven: () => false, want: { reason: 'TokenNotProven' } },
  {
    name: 'the agent’s key is not its own',
    isProven: (key: string) => key === 'UTOKEN',
    want: { reason: 'KeyNotProven' },
  },
  { name: 'both are proven', isProven: yes, want: { kind: 'admit', role: 'token', agentKey: 'UAGENT' } },
])('a known token: $name', ({ isProven, want }) => {
  expect(judgeTokenHolder(claim, aToken(), isProven)).toMatchObject(want);
});

const declaredAt = (timeMs: number) => ({ lastOf: { approver: { timeMs } as StoredEvent } });

test.each([
  { name: 'an expired one', token: aToken({ expiresAtMs: 1 }), want: 'admit' },
  {
    name: 'one that is not taken as it stands',
    token: aToken({ withdrawn: true, problem: { reason: 'InvalidSet', message: 'm' } }),
    want: 'admit',
  },
  {
    name: 'one that was removed after its end',
    token: { ...aToken({ withdrawn: true, expiresAtMs: 5 }), ...declaredAt(5) },
    want: 'admit',
  },
  {
    name: 'one that a person took back before its end',
    token: { ...aToken({ withdrawn: true, expiresAtMs: 5 }), ...declaredAt(4) },
    want: 'refuse',
  },
])('a token that is not good is let in only to hear why: $name → $want', ({ token, want }) => {
  expect(judgeTokenHolder(claim, token, yes).kind).toBe(want);
});

function aCluster(overrides: { admittedKey?: string; key?: string } | undefined) {
  const cluster = new MemoryLog().cluster('id-1');
  if (!overrides) return cluster;
  const { admittedKey, key = 'other' } = overrides;
  const identity = { admittedKey, request: { key } } as unknown as Identity;
  return { ...cluster, identity };
}
const returning: CalloutClaim = { ...claim, nkey: 'K', user: undefined, pass: undefined };

test.each([
  { name: 'a cluster nobody knows', cluster: aCluster(undefined) },
  { name: 'a key the cluster does not have', cluster: aCluster({ admittedKey: 'L' }) },
])('$name is refused before any signature is looked at', ({ cluster }) => {
  const isProven = vi.fn<(key: string, signature: string) => boolean>(yes);
  expect(judgeReturning(returning, cluster, { isProven, isMemberBeforeRestore: () => true })).toEqual({
    kind: 'refuse',
    reason: 'UnknownKey',
  });
  expect(isProven).not.toHaveBeenCalled();
});

test.each([
  {
    name: 'the member’s key',
    cluster: aCluster({ admittedKey: 'K' }),
    isProven: yes,
    want: { kind: 'admit', role: 'returning', agentKey: 'K' },
  },
  {
    name: 'the key of the newest request',
    cluster: aCluster({ admittedKey: 'L', key: 'K' }),
    isProven: yes,
    want: { kind: 'admit', agentKey: 'K' },
  },
  {
    name: 'a known key that is not proven',
    cluster: aCluster({ admittedKey: 'K' }),
    isProven: () => false,
    want: { reason: 'KeyNotProven' },
  },
])('$name', ({ cluster, isProven, want }) => {
  expect(judgeReturning(returning, cluster, { isProven, isMemberBeforeRestore: () => true })).toMatchObject(
    want,
  );
});

test.each([
  {
    name: 'credentials of the former epoch',
    pass: 'jwt',
    isMemberBeforeRestore: yes,
    want: { kind: 'admit' },
  },
  {
    name: 'ones that do not hold',
    pass: 'jwt',
    isMemberBeforeRestore: () => false,
    want: { reason: 'UnknownKey' },
  },
  { name: 'none', pass: undefined, isMemberBeforeRestore: yes, want: { reason: 'UnknownKey' } },
])('who shows $name of a cluster that is not known', ({ pass, isMemberBeforeRestore, want }) => {
  const shown = { ...returning, pass };
  expect(judgeReturning(shown, aCluster(undefined), { isProven: yes, isMemberBeforeRestore })).toMatchObject(
    want,
  );
  const checks = { isProven: () => false, isMemberBeforeRestore };
  expect(judgeReturning(shown, aCluster(undefined), checks).kind).toBe('refuse');
  // Of a cluster that is known, they count for nothing.
  const known = aCluster({ admittedKey: 'L' });
  expect(judgeReturning(shown, known, { isProven: yes, isMemberBeforeRestore })).toMatchObject({
    reason: 'UnknownKey',
  });
});
