import { expect, test, vi } from 'vitest';
import { RollcallError } from '@rollcall/shared/errors';
import type { AggregateRecord, Decision, EventDraft } from '@rollcall/shared/events';
import { KubeApiError, type KubeObject, type Resource } from '@rollcall/shared/kubernetes';
import { aDecision, anIdentity } from '../../tests/harness/events.ts';
import { bringAccessAbout, type World } from './bring-access-about.ts';

const about = { requestId: 'request-1', key: 'K', access: 'Namespace' } as const;
const isIn = aDecision({ ...about, verdict: 'approved', approvedKey: 'K' });
const isOut = aDecision({ ...about, verdict: 'denied', revokedKeys: [{ key: 'K', atMs: 1 }] });

/** A history and an API server that other processes change between two steps. */
function aWorld() {
  const objects = new Map<string, KubeObject>();
  const told: EventDraft[] = [];
  const at = ({ plural }: Resource, name = '', namespace = '') => `${plural} ${namespace}/${name}`;
  const world = {
    decision: isIn as Decision,
    sequence: 1,
    objects,
    told,
    /** What happens right before a write: it may change the decision, or throw. */
    before: (_write: string): void => undefined,
    decide(decision: Decision) {
      world.decision = decision;
      world.sequence++;
    },
  };
  const parts = {
    log: {
      async read() {
        const lastOf = { registrar: { section: anIdentity() }, approver: { section: world.decision } };
        const head = { epoch: 1, sequence: world.sequence, digest: '' };
        return { aggregate: { kind: 'cluster', id: 'id-1' }, head, lastOf } as unknown as AggregateRecord;
      },
      async append(drafts: readonly EventDraft[]) {
        if (drafts[0]?.head?.sequence !== world.sequence)
          throw new RollcallError('APPEND_CONFLICT', 'somebody was faster');
        told.push(...drafts);
      },
    },
    kube: {
      async create(resource: Resource, object: KubeObject) {
        const place = at(resource, object.metadata.name, object.metadata.namespace);
        world.before(`create ${place}`);
        if (objects.has(place))
          throw new KubeApiError('there', { status: 409, reason: 'AlreadyExists', details: {} });
        objects.set(place, object);
        return object;
      },
      get: async (resource: Resource, { name, namespace }: { name: string; namespace?: string }) =>
        objects.get(at(resource, name, namespace)),
      async delete(resource: Resource, name: string, { namespace }: { namespace?: string }) {
        world.before(`delete ${at(resource, name, namespace)}`);
        return objects.delete(at(resource, name, namespace));
      },
    },
    reservedNames: [],
    nowMs: () => 1,
  } as unknown as World;
  return { world, parts };
}

test('what was taken away half, and then is wanted again, is made again before it is told', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  const { world, parts } = aWorld();
  const onceAt = new Map<string, () => void>([
    ['create rolebindings one/rollcall-member', () => world.decide(isOut)],
    [
      'delete rolebindings one/rollcall-member',
      () => {
        world.decide(isIn);
        throw new KubeApiError('busy', { status: 429, reason: 'TooManyRequests', details: {} });
      },
    ],
  ]);
  world.before = (write) => {
    const happens = onceAt.get(write);
    onceAt.delete(write);
    happens?.();
  };
  await bringAccessAbout(parts, {
    kind: 'cluster',
    id: 'id-1',
    type: 'approved',
    section: isIn,
    correlation: 'test',
  });
  expect(onceAt.size).toBe(0);
  expect(world.told).toMatchObject([{ definition: { type: 'provisioned' } }]);
  expect([...world.objects.keys()].toSorted()).toEqual([
    'namespaces /one',
    'rolebindings one/rollcall-member',
    'serviceaccounts one/rollcall-member',
  ]);
});
