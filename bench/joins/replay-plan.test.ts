import { expect, test } from 'vitest';
import type { AuditWrite } from '../report/audit-writes.ts';
import { replayPlan } from './replay-plan.ts';

const aWrite = (over: Partial<AuditWrite> = {}): AuditWrite => ({
  user: 'system:serviceaccount:rollcall-system:rollcall-projector',
  verb: 'create',
  resource: 'managedclusters',
  namespace: '',
  name: 'burst-001',
  code: 201,
  isDryRun: false,
  uri: '/apis/rollcall.dev/v1alpha1/managedclusters?fieldManager=rollcall-projector',
  body: { metadata: { name: 'burst-001' }, spec: { clusterId: 'burst-001' } },
  receivedAtMs: 1,
  repliedAtMs: 2,
  ...over,
});
const plan = (writes: readonly AuditWrite[], clusters = ['burst-001']) =>
  replayPlan(writes, { clusters, rename: { from: 'burst-', to: 'again-' } });

test('names are others in path and body, everything else is as it was', () => {
  const uri = '/apis/rollcall.dev/v1alpha1/managedclusters/burst-001/status?fieldManager=f';
  const body = { status: { namespace: 'burst-001', ready: true } };
  expect(plan([aWrite({ verb: 'patch', uri, body })])).toEqual([
    [
      {
        user: 'system:serviceaccount:rollcall-system:rollcall-projector',
        method: 'PATCH',
        path: '/apis/rollcall.dev/v1alpha1/managedclusters/again-001/status?fieldManager=f',
        body: '{"status":{"namespace":"again-001","ready":true}}',
        contentType: 'application/merge-patch+json',
      },
    ],
  ]);
});

test('a cluster’s writes stay in the order in which they came, the line of each is written when it is answered', () => {
  const second = aWrite({ verb: 'patch', receivedAtMs: 7 });
  const first = aWrite({ receivedAtMs: 5 });
  expect(plan([second, first]).map((some) => some.map(({ method }) => method))).toEqual([['POST', 'PATCH']]);
});

test('each cluster has its own, what lies in its namespace included', () => {
  const inNamespace = aWrite({
    resource: 'serviceaccounts',
    namespace: 'burst-002',
    name: 'rollcall-member',
  });
  const lengths = plan([aWrite(), inNamespace], ['burst-001', 'burst-002', 'burst-003']).map(
    ({ length }) => length,
  );
  expect(lengths).toEqual([1, 1, 0]);
});

test.each([
  { name: 'what was refused', over: { code: 409 } },
  { name: 'a dry run', over: { isDryRun: true } },
  { name: 'what a person wrote', over: { user: 'rollcall-admin' } },
  { name: 'what is coalesced over clusters', over: { resource: 'managedclustersets/status' } },
  { name: 'what is no single write', over: { verb: 'deletecollection' } },
])('$name is not sent again', ({ over }) => {
  expect(plan([aWrite(over)])).toEqual([[]]);
});

test('versions of the old object do not stand in the way', () => {
  const body = { metadata: { resourceVersion: '7', uid: 'u', labels: { a: 'b' } } };
  expect(plan([aWrite({ verb: 'patch', body })])[0]?.[0]?.body).toBe('{"metadata":{"labels":{"a":"b"}}}');
});
