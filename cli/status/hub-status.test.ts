import { rollcallVersion } from '@rollcall/shared/service/version';
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

const approverSaying = (id: string, figures: Readonly<Record<string, number>>) => ({
  name: 'approver',
  id,
  version: rollcallVersion,
  started: '',
  figures,
});
const busOf = (...answers: BusSide['answers']): BusSide => ({
  answers,
  streams: {},
  server: undefined,
  version: undefined,
});

test.each([
  {
    name: 'is not ready',
    figures: { ready: 0, admissionOk: 1 },
    says: '1 of 2 replicas of approver are not ready',
  },
  {
    name: 'sees no refusal of its probe',
    figures: { ready: 1, admissionOk: 0 },
    says: 'the approver holds decisions of people: its probe of the admission policies was not refused as it must be',
  },
])('of two replicas one that $name is told', ({ figures, says }) => {
  const bus = busOf(approverSaying('one', { ready: 1, admissionOk: 1 }), approverSaying('two', figures));
  const { problems } = judgeHub(bus, { server: '', version: undefined, admission: [] });
  expect(problems.map(({ text }) => text)).toContain(says);
});

test('an agent host without replicas is a line, and nothing that is wrong', () => {
  const { services, problems } = judgeHub(busOf(), { server: '', version: undefined, admission: [] });
  expect(services).toContainEqual({ name: 'agent-host', replicas: 0, ready: 0, versions: [] });
  expect(problems.filter(({ text }) => text.includes('agent-host'))).toEqual([]);
});

test.each([
  { error: undefined, says: 'https://hub (does not tell its version)' },
  { error: 'it does not answer', says: 'https://hub (away)' },
])('an API server without a version, error $error: $says', ({ error, says }) => {
  const kubernetes = { server: 'https://hub', version: undefined, admission: [] };
  const side = error === undefined ? kubernetes : { ...kubernetes, error };
  expect(statusText(judgeHub(busOf(), side))).toContain(says);
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

test.each([
  { findings: ['a is missing', 'b is missing'], says: ['a is missing', 'b is missing'] },
  {
    findings: ['a', 'b', 'c', 'd', 'e', 'f'],
    says: ['a; 5 more of the admission policies and their bindings'],
  },
])('of many admission policies that are missing one is named: $findings', ({ findings, says }) => {
  const { problems } = judgeHub(busOf(), { server: '', version: undefined, admission: findings });
  expect(problems.map(({ text }) => text)).toEqual(expect.arrayContaining(says));
  expect(problems.filter(({ next }) => next.includes('deploy/admission'))).toHaveLength(says.length);
});
