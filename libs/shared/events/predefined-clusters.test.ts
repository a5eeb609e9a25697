import { expect, test } from 'vitest';
import { type Decision, nameReserved, predefined } from './types/approver-events.ts';
import type { StoredEvent } from './envelope.ts';
import { predefinedObstacle } from './predefined-clusters.ts';
import { clusterRecord, foldRecord, nameRecord } from './records/fold-record.ts';
import { type Identity, requested } from './types/registrar-events.ts';
import { clusterIdOf } from './safe-id.ts';
import type { AggregateId } from './event-subjects.ts';

const id = 'id-1';

function told(aggregate: AggregateId, ...events: Pick<StoredEvent, 'definition' | 'section'>[]) {
  return foldRecord(
    aggregate,
    events.map((event, index) => ({
      ...aggregate,
      ...event,
      type: event.definition.type,
      eventId: `e${index}`,
      sequence: index + 1,
      timeMs: 1,
      source: 'test',
      traceparent: undefined,
      digest: `sha256:${index}`,
      epoch: 1,
      previous: undefined,
      correlation: 'c',
      by: undefined,
      reason: 'R',
      message: 'm',
    })),
  );
}

const decided = (section: Partial<Decision>) => ({ definition: predefined, section });
const asked = (section: Partial<Identity>) => ({ definition: requested, section });
const holder = (clusterId: string, free = false) => ({
  definition: nameReserved,
  section: { name: 'one', clusterId, free },
});

test.each([
  { name: 'nobody has the id or the name', want: undefined },
  {
    name: 'both ids are given and agree',
    spec: { clusterId: clusterIdOf('Shop 7'), clientId: 'Shop 7' },
    want: undefined,
  },
  { name: 'both ids are given and differ', spec: { clusterId: id, clientId: 'Shop 7' }, want: 'IdMismatch' },
  {
    name: 'it is defined already, as this very one',
    cluster: [decided({ verdict: 'predefined', clusterName: 'one' })],
    names: [holder(id)],
    want: undefined,
  },
  {
    name: 'another object has the id',
    cluster: [decided({ verdict: 'predefined', clusterName: 'two' })],
    want: 'IdTaken',
  },
  {
    name: 'a cluster of this id asks under another name',
    cluster: [asked({ state: 'requested', clusterName: 'two' })],
    want: 'IdTaken',
  },
  {
    name: 'one of this id was refused under another name',
    cluster: [asked({ state: 'refused', clusterName: 'two' })],
    want: undefined,
  },
  {
    name: 'the cluster of this id has left',
    cluster: [
      asked({ state: 'left', clusterName: 'two' }),
      decided({ verdict: 'leaving', clusterName: 'two' }),
    ],
    want: undefined,
  },
  {
    name: 'the cluster of this id is leaving',
    cluster: [
      asked({ state: 'admitted', clusterName: 'two' }),
      decided({ verdict: 'leaving', clusterName: 'two' }),
    ],
    want: 'IdTaken',
  },
  { name: 'another cluster has the name', names: [holder('id-2')], want: 'NameTaken' },
  { name: 'the name is free again', names: [holder('id-2', true)], want: undefined },
  { name: 'the name can be no namespace', objectName: 'kube-system', want: 'NameReserved' },
])('predefinedObstacle: $name → $want', ({ objectName = 'one', spec, cluster = [], names = [], want }) => {
  const obstacle = predefinedObstacle({
    name: objectName,
    spec: spec ?? { clusterId: id },
    cluster: clusterRecord(told({ kind: 'cluster', id: spec?.clusterId ?? id }, ...cluster)),
    holder: nameRecord(told({ kind: 'name', id: objectName }, ...names)),
  });
  expect(obstacle?.reason).toBe(want);
});
