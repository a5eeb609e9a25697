import { type AggregateId, aggregateSubjects, foldRecord } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import type { ClusterTools } from './projection-context.ts';
import { createClusterProjection } from './project-cluster.ts';

const silent = (): void => undefined;
const noObjects = { cache: { onChange: silent }, get: silent, lookUp: async () => undefined };

test('an object may say of itself that it shows what is no cluster: nothing is looked up for it, and nothing tried again', async () => {
  const read: string[] = [];
  const pass = createClusterProjection({
    log: {
      async read(aggregate: AggregateId) {
        aggregateSubjects(aggregate);
        read.push(aggregate.id);
        return foldRecord(aggregate, []);
      },
    },
    facts: { get: async () => undefined },
    view: { clusters: noObjects, requests: noObjects },
    waiting: { note: silent },
    metrics: { gauge: silent },
    nowMs: () => 0,
    debounceMs: { undecided: 0, joining: 0 },
  } as unknown as ClusterTools);
  expect(await pass('No_Id.')).toEqual({ isShown: true });
  expect(read).toEqual([]);
  expect(await pass('c-1')).toEqual({ isShown: true });
  expect(read).toEqual(['c-1']);
});
