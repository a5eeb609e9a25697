import type { Decision } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import type { ClusterObject } from './cluster-change.ts';
import { clusterWords, newClusterWords, withoutWords } from './unattributed-words.ts';

const anObject = (spec: object, metadata: object = {}): ClusterObject =>
  ({
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedCluster',
    metadata: { name: 'edge', uid: 'u1', resourceVersion: '7', generation: 2, ...metadata },
    spec: { clusterId: 'c-1', namespacePolicy: 'Delete', ...spec },
  }) as ClusterObject;
const inSet = (name: string) => ({ labels: { 'rollcall.dev/cluster-set': name, env: 'prod' } });
const decision = (more: Partial<Decision>) =>
  ({
    verdict: 'approved',
    approvedKey: 'K',
    access: 'None',
    revokedKeys: [],
    ...more,
  }) as unknown as Decision;
const operation = { id: 'w1', verb: 'Ban', by: 'anna' };

test.each([
  { name: 'nothing new', object: anObject({ access: 'None' }), record: decision({}), want: [] },
  {
    name: 'access',
    object: anObject({ access: 'Namespace' }),
    record: decision({}),
    want: ['access:Namespace'],
  },
  {
    name: 'a member that is shut',
    object: anObject({ memberAccess: 'Denied' }),
    record: decision({}),
    want: ['member-access:Denied'],
  },
  {
    name: 'a member that is opened again',
    object: anObject({ memberAccess: 'Allowed' }),
    record: decision({ memberAccess: 'Denied' }),
    want: ['member-access:Allowed'],
  },
  {
    name: 'a member that nobody has shut',
    object: anObject({ memberAccess: 'Allowed' }),
    record: decision({}),
    want: [],
  },
  {
    name: 'access that was given',
    object: anObject({ access: 'Namespace' }),
    record: decision({ access: 'Namespace' }),
    want: [],
  },
  { name: 'an operation', object: anObject({ operation }), record: decision({}), want: ['operation:u1/w1'] },
  {
    name: 'an operation that was acted on',
    object: anObject({ operation }),
    record: decision({ operations: ['w1'] }),
    want: [],
  },
  { name: 'a set', object: anObject({}, inSet('red')), record: decision({}), want: ['cluster-set:red'] },
  {
    name: 'a set that was left',
    object: anObject({}),
    record: decision({ clusterSet: 'red' }),
    want: ['cluster-set:'],
  },
  {
    name: 'an acceptance that puts out',
    object: anObject({ hubAcceptsClient: false }),
    record: decision({}),
    want: ['accepts:false'],
  },
  {
    name: 'an acceptance that takes a withdrawal back',
    object: anObject({ hubAcceptsClient: true }),
    record: decision({ verdict: 'denied', withdrawnKey: 'K1', approvedKey: undefined }),
    want: ['accepts:true'],
  },
  {
    name: 'everything about a cluster that nobody knows',
    object: anObject({ access: 'Namespace', kubeconfigSecret: 's', hubAcceptsClient: true }),
    record: undefined,
    want: ['access:Namespace', 'accepts:true', 'kubeconfig:s'],
  },
])('$name: $want would change something', ({ object, record, want }) => {
  expect(newClusterWords(object, { decision: record })).toEqual(want);
});

test('without its words an object says what the record says', () => {
  const annotations = {
    'rollcall.dev/leave-requested-by': 'bob',
    'rollcall.dev/changed-by': 'bob',
    other: 'x',
  };
  const object = anObject(
    { operation, access: 'Namespace', hubAcceptsClient: false, kubeconfigSecret: 's', unschedulable: true },
    { ...inSet('red'), annotations },
  );
  const { spec, metadata } = withoutWords(object, new Set(clusterWords(object)), { clusterSet: 'blue' });
  expect(spec).toEqual({ clusterId: 'c-1', namespacePolicy: 'Delete', unschedulable: true });
  expect(metadata.labels).toEqual({ 'rollcall.dev/cluster-set': 'blue', env: 'prod' });
  expect(metadata.annotations).toEqual({ other: 'x' });
  expect(withoutWords(object, new Set(), undefined)).toBe(object);
});

test('words are taken out of an object without annotations as well: nobody is named there below Kubernetes 1.36', () => {
  const object = anObject({ access: 'Namespace', operation });
  const { spec, metadata } = withoutWords(object, new Set(clusterWords(object)), undefined);
  expect(spec).toEqual({ clusterId: 'c-1', namespacePolicy: 'Delete' });
  expect(metadata.annotations).toEqual({});
});

test('no word is longer than an event has room for, whatever stood in the annotations meanwhile', () => {
  const foreign = '\u0001'.repeat(40_000);
  const annotations = { 'rollcall.dev/changed-by': foreign, 'rollcall.dev/leave-requested-by': foreign };
  const words = clusterWords(anObject({ operation }, { annotations }));
  expect(words.map((word) => word.slice(0, word.indexOf(':')))).toEqual([
    'operation',
    'cluster-set',
    'leave-requested-by',
    'changed-by',
  ]);
  for (const word of words) expect(JSON.stringify(word).length).toBeLessThanOrEqual(302);
  const another = { ...annotations, 'rollcall.dev/leave-requested-by': `${foreign}x` };
  expect(clusterWords(anObject({ operation }, { annotations: another }))[2]).not.toBe(words[2]);
});
