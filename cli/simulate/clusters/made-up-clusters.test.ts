import type { EventLog } from '@rollcall/shared/bus';
import type { AggregateRecord, EventDraft, StoredEvent } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { beginLeaving } from './made-up-clusters.ts';
import { madeUpSteps } from './made-up-history.ts';

const run = 'run';
const ids = ['a', 'b', 'c', 'd', 'e'];

/** A stream on which these clusters are members. */
function streamOfMembers() {
  const written: string[] = [];
  const [, , approve] = madeUpSteps;
  const read = async ({ kind, id }: { kind: 'cluster'; id: string }): Promise<AggregateRecord> => {
    const aggregate = { kind, id } as const;
    const cluster = { id, key: `K-${id}`, isShown: false };
    const by = { run, heartbeat: { intervalSeconds: 15, graceSeconds: 45 }, nowMs: 0 };
    const { section } = approve({ aggregate, head: undefined }, cluster, by);
    return {
      aggregate,
      head: undefined,
      newest: undefined,
      lastOf: { approver: { section } as StoredEvent },
    };
  };
  const append = async (drafts: readonly EventDraft[]) => {
    for (const { definition, aggregate } of drafts) written.push(`${definition.type} ${aggregate.id}`);
  };
  return { log: { read, append } as unknown as EventLog, written };
}

test('of many that leave, each is decided about in its turn, and nobody once the scenario is over', async () => {
  const { log, written } = streamOfMembers();
  const ending = new AbortController();
  const silent: string[] = [];
  let turns = 0;
  await beginLeaving([{ log, clusterIds: ids }], {
    run,
    signal: ending.signal,
    async turn() {
      if (++turns === 3) ending.abort();
    },
    onLeaving: (id) => silent.push(id),
  });
  expect(written).toEqual(['leaving a', 'leaving b']);
  expect(silent).toEqual(['a', 'b']);
});
