import {
  approved,
  changed,
  clusterRecord,
  type EventDefinition,
  foldRecord,
  rotated,
  type StoredEvent,
  suspect,
} from '@rollcall/shared/events';
import { annotations, labels } from '@rollcall/shared/resources';
import { expect, test } from 'vitest';
import {
  aDecision,
  aLiveness,
  anEvent,
  anIdentity,
  clusterId,
  member,
} from '../tests/cluster-record.builder.ts';
import type { ClusterTools, ShownCluster } from './projection-context.ts';
import { createClusterObjects } from './write-cluster.ts';

type Made = readonly [EventDefinition, unknown];
const given = (team: string): Made => [approved, aDecision({ labels: { team } })];
const rotation: Made = [rotated, anIdentity(member)];
const flapping: Made = [suspect, aLiveness({ state: 'suspect' })];

/** A stream of this cluster alone, and what of it was decoded. */
function historyOf(made: readonly Made[]) {
  const decoded: number[] = [];
  const type = (at: number) => made[at - 1]?.[0].type ?? '';
  const event = (at: number) => {
    const [definition, section] = made[at - 1] as Made;
    return anEvent(definition, section, at);
  };
  const newest = new Map(made.map(([definition], index) => [definition.type, index + 1]));
  const record = clusterRecord(
    foldRecord({ kind: 'cluster', id: clusterId }, [...newest.values()].map(event)),
  );
  const log: ClusterTools['log'] = {
    read: () => Promise.reject(new Error('nobody reads')),
    async *scan({ fromSequence = 1, isWanted = () => true }): AsyncGenerator<StoredEvent> {
      for (let at = fromSequence; at <= made.length; at++) {
        if (!isWanted({ kind: 'cluster', id: clusterId, type: type(at), sequence: at })) continue;
        decoded.push(at);
        yield event(at);
      }
    },
  };
  return { log, record, decoded };
}

/** What is written into the object's metadata and spec. */
async function written({ log, record }: ReturnType<typeof historyOf>, shown: ShownCluster): Promise<unknown> {
  const patches: unknown[] = [];
  const clusters = { get: () => shown, cache: { onChange: () => () => false } };
  const writer = {
    patch: (_resource: unknown, current: ShownCluster, { patch }: { patch: unknown }) => {
      patches.push(patch);
      return Promise.resolve(current);
    },
    patchStatus: () => Promise.resolve(true),
  };
  const tools = {
    log,
    view: { clusters, sets: { get: () => undefined } },
    writer,
    factInterval: { waitMs: () => 0, wrote: () => undefined },
    unknownAuthors: { of: () => Promise.resolve(undefined) },
    nowMs: Date.now,
  };
  // Of the tools of a pass only what this one uses.
  const projection = createClusterObjects(tools as unknown as ClusterTools, {
    showStatus: (_record, _current, write) => write(),
    debounce: { forget: () => undefined },
  });
  await projection.show(record, undefined, false);
  return patches[0];
}

const aShown = (team: string, sequence: number | undefined): ShownCluster =>
  ({
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedCluster',
    metadata: {
      name: 'blue',
      uid: 'u',
      resourceVersion: '1',
      labels: { team, [labels.createdBy]: 'projector', [labels.clusterId]: clusterId },
    },
    spec: { clusterId },
    ...(sequence === undefined ? {} : { status: { observed: { epoch: 1, sequence, digest: 'd' } } }),
  }) as unknown as ShownCluster;

const patchOf = (team: string) => ({
  metadata: { labels: expect.objectContaining({ team }), annotations: { [annotations.changedBy]: null } },
});

test('of a long history only decisions are decoded, and only those since the object was written', async () => {
  const made = [
    given('a'),
    ...Array.from({ length: 20_000 }, (_, at) => [rotation, flapping, given('a')][at % 3] as Made),
  ];
  const history = historyOf([...made, given('b')]);
  expect(await written(history, aShown('a', made.length))).toMatchObject(patchOf('b'));
  expect(history.decoded.length).toBeLessThan(400);
});

test('the decision before is found, however long ago it was', async () => {
  const made = [rotation, given('a'), ...Array.from({ length: 20_000 }, () => flapping)];
  const history = historyOf([...made, [changed, aDecision({ labels: { team: 'a' } })], given('b')]);
  expect(await written(history, aShown('a', made.length))).toMatchObject(patchOf('b'));
  expect(history.decoded.length).toBeLessThan(10);
});

test('what a person wrote meanwhile stays, where a decision long after the one before is about something else', async () => {
  const made = [rotation, given('a'), ...Array.from({ length: 20_000 }, () => flapping)];
  const history = historyOf([...made, [changed, aDecision({ labels: { team: 'a' }, clusterSet: 'x' })]]);
  expect(await written(history, aShown('mine', made.length))).not.toMatchObject({
    metadata: { labels: { team: 'a' } },
  });
});

test('an object without a status is compared with all decisions, and no other event is decoded', async () => {
  const made = [rotation, given('a'), ...Array.from({ length: 10_000 }, () => flapping), given('b')];
  const history = historyOf(made);
  expect(await written(history, aShown('a', undefined))).toMatchObject(patchOf('b'));
  expect(history.decoded).toEqual([2, made.length]);
});
