import { describe, expect, test } from 'vitest';
import type { StoredObject } from '@rollcall/shared/kubernetes';
import type { ClusterRegistrationRequest, ManagedCluster } from '@rollcall/shared/resources';
import {
  aDecision,
  aLiveness,
  aMember,
  anAccess,
  aRecord,
  clusterId,
  type Sections,
  startMs,
} from '../tests/cluster-record.builder.ts';
import { desiredCluster } from './desired-cluster.ts';
import { judgeVisibility, mayRequestGo } from './visibility.ts';

const well = aRecord(aMember());
const { identity, decision, access } = aMember() as Required<Sections>;
const muchLaterMs = startMs + 86_400_000;

type Shown = StoredObject<ManagedCluster>;
/** What the projector has made of a record, and what somebody did to it since. */
function shown(
  record = well,
  { spec = {}, metadata = {} }: { spec?: Partial<Shown['spec']>; metadata?: Partial<Shown['metadata']> } = {},
): Shown {
  const wanted = desiredCluster(record, undefined, undefined);
  if (wanted.presence !== 'present') throw new Error(wanted.presence);
  const { shape, status } = wanted;
  return {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedCluster',
    metadata: {
      name: wanted.name,
      uid: 'u1',
      resourceVersion: '1',
      generation: 1,
      labels: { ...shape.labels },
      finalizers: [...shape.finalizers],
      ...metadata,
    },
    spec: { ...shape.spec, ...shape.settings, ...spec },
    status,
  } as Shown;
}

const judge = (record = well, cluster?: Shown, nowMs = muchLaterMs) =>
  judgeVisibility(record, undefined, cluster, { nowMs, calmForMs: 60_000 });

describe('only exceptions are shown', () => {
  test('nobody needs the projection of a cluster that is well, be it there or not', () => {
    expect(judge()).toBe('unneeded');
    expect(judge(well, shown())).toBe('unneeded');
  });

  test('labels that the nodes share, which nobody but the projector writes, keep no projection there', () => {
    const cluster = shown();
    const labels = { ...cluster.metadata.labels, 'node.rollcall.dev/zone': 'a' };
    expect(judge(well, { ...cluster, metadata: { ...cluster.metadata, labels } })).toBe('unneeded');
  });

  test('a hub may make no namespace for who was given no access', () => {
    expect(judge(aRecord({ identity, decision, liveness: aLiveness() }))).toBe('unneeded');
  });

  test('it stays for a minute after the last that happened, and as long as a person asked for', () => {
    const lastMs = well.newest?.timeMs ?? 0;
    expect(judge(well, shown(), lastMs)).toEqual({ untilMs: lastMs + 60_000 });
    const until = new Date(muchLaterMs + 5000).toISOString();
    const asked = shown(well, { metadata: { annotations: { 'rollcall.dev/show-until': until } } });
    expect(judge(well, asked)).toEqual({ untilMs: muchLaterMs + 5000 });
    expect(judge(well, asked, muchLaterMs + 5000)).toBe('unneeded');
    const forEver = shown(well, { metadata: { annotations: { 'rollcall.dev/show-until': 'always' } } });
    expect(judge(well, forEver)).toEqual({ untilMs: Number.POSITIVE_INFINITY });
  });

  test.each([
    {
      name: 'not heard',
      is: aMember({ liveness: aLiveness({ state: 'suspect', cause: 'ConnectionLost' }) }),
    },
    { name: 'never heard', is: { identity, decision, access } },
    { name: 'denied', is: aMember({ decision: aDecision({ verdict: 'denied' }) }) },
    { name: 'cordoned', is: aMember({ decision: aDecision({ unschedulable: true }) }) },
    {
      name: 'laid down by a person',
      is: aMember({ decision: aDecision({ predefined: { clusterType: 'Standard', mode: 'Pull' } }) }),
    },
    {
      name: 'without the access that it was given',
      is: { identity, decision: aDecision({ access: 'Namespace' }), liveness: aLiveness() },
    },
    {
      name: 'without its namespace, which cannot be made',
      is: aMember({ access: anAccess({ state: 'failed' }) }),
    },
  ])('it is shown where it is $name', ({ is }) => {
    expect(judge(aRecord(is))).toBeUndefined();
  });

  test.each([
    { name: 'is being deleted', metadata: { deletionTimestamp: '2026-11-21T12:00:00Z' } },
    { name: 'has a label that the hub has not read', metadata: { labels: { mine: 'x' } } },
    { name: 'is cordoned a moment ago', spec: { unschedulable: true } },
    { name: 'is not to be let in any more', spec: { hubAcceptsClient: false } },
    { name: 'keeps its namespace from now on', spec: { namespacePolicy: 'Keep' as const } },
    {
      name: 'carries an operation that was not acted on',
      spec: { operation: { id: 'w1', verb: 'Revoke', keyFingerprint: 'a' } } as Partial<Shown['spec']>,
    },
  ])('nothing of a person is lost: it stays where the object $name', ({ metadata, spec }) => {
    expect(
      judge(well, shown(well, { ...(metadata ? { metadata } : {}), ...(spec ? { spec } : {}) })),
    ).toBeUndefined();
  });

  test('an operation that was acted on keeps nothing', () => {
    const record = aRecord(aMember({ decision: aDecision({ operations: ['w1'] }) }));
    const spec = { operation: { id: 'w1', verb: 'Unban', keyFingerprint: 'a' } } as Partial<Shown['spec']>;
    expect(judge(record, shown(record, { spec }))).toBe('unneeded');
  });
});

test('a request goes, unless a person decided by it', () => {
  const request = (spec: object) =>
    ({ metadata: { name: clusterId }, spec }) as StoredObject<ClusterRegistrationRequest>;
  expect(mayRequestGo(request({}))).toBe(true);
  expect(mayRequestGo(request({ decision: { verdict: 'Approve' } }))).toBe(false);
});
