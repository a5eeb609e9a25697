import { expect, test } from 'vitest';
import type { BusSide, KubernetesSide } from './read-sides.ts';
import { judgeHub, troublesOf } from './hub-status.ts';
import { statusText } from './status-text.ts';

function troublesAt(figures: Readonly<Record<string, number>>, name = 'account-controller'): string[] {
  const controller = { name, id: 'one', version: '0.1.0', started: '', figures };
  const bus: BusSide = { answers: [controller], streams: {}, server: undefined, version: undefined };
  const kubernetes: KubernetesSide = { server: '', version: undefined, admission: undefined };
  return troublesOf(bus, kubernetes).map(({ check }) => check);
}

test.each([
  { name: 'with room', figures: { revokedKeys: 10, revokedKeysRoom: 100, revokedKeysDropped: 0 }, want: [] },
  {
    name: 'that filled up and dropped keys',
    figures: { revokedKeys: 100, revokedKeysRoom: 100, revokedKeysDropped: 1 },
    want: ['revocations dropped', 'revocations'],
  },
  {
    name: 'of an account-controller of before',
    figures: { revokedKeys: 100, revokedKeysRoom: 100 },
    want: ['revocations'],
  },
])('a revocation list $name: $want', ({ figures, want }) => {
  expect(troublesAt(figures)).toEqual(want);
});

test.each([
  { unproven: 0, want: [] },
  { unproven: 3, want: ['author unknown'] },
])('$unproven words of nobody knows whom: $want', ({ unproven, want }) => {
  expect(troublesAt({ unproven }, 'approver')).toEqual(want);
});

test('what does not count is a line of `rollcall status`, with what to do', () => {
  const figures = { ready: 1, admissionOk: 1, unproven: 3 };
  const approver = { name: 'approver', id: 'one', version: '0.1.0', started: '', figures };
  const bus: BusSide = { answers: [approver], streams: {}, server: undefined, version: undefined };
  const text = statusText(judgeHub(bus, { server: '', version: undefined, admission: [] }));
  expect(text).toContain('- 3 decisions, operations, tokens, policies or sets were written while');
  expect(text).toContain('→ `rollcall events --type admission-changed` names them');
});

test.each([
  { counts: { clustersReady: 2 }, says: [], ends: 'Everything is as it should be.' },
  {
    counts: { clustersReady: 1, clustersSuspect: 1 },
    says: ['clusters that are not heard just now: 1 suspect'],
    ends: 'Nobody can say that all is well:',
  },
  {
    counts: { clustersSuspect: 1, clustersUnreachable: 2 },
    says: ['clusters are not well: 2 unreachable', 'clusters that are not heard just now: 1 suspect'],
    ends: 'Not as it should be:',
  },
])('what heartbeat says of a fleet, $counts: $says', ({ counts, says }) => {
  const heartbeat = { name: 'heartbeat', id: 'one', version: '0.1.0', started: '', figures: counts };
  const bus: BusSide = { answers: [heartbeat], streams: {}, server: undefined, version: undefined };
  const { problems } = judgeHub(bus, { server: '', version: undefined, admission: [] });
  expect(problems.map(({ text }) => text).filter((text) => text.startsWith('clusters'))).toEqual(says);
});
