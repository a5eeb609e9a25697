import { expect, test } from 'vitest';
import {
  approved,
  decisionSchema,
  decodeEvent,
  draft,
  encodeEvent,
  type EventDraft,
  identitySchema,
  requested,
} from '@rollcall/shared/events';
import type { EventLog } from '@rollcall/shared/bus';
import { type PastRequest, replayRequests } from './past-requests.ts';

const startMs = Date.UTC(2026, 9, 22);
const what = { reason: 'R', message: 'm' };
const by = { policy: 'default', generation: 1, rule: 'all' };

function join(index: number): EventDraft[] {
  const request = {
    id: `request-${index}`,
    key: `key-${index}`,
    keyFingerprint: 'f',
    tokenId: 'token',
    tokenName: 'rollcall-join/token',
    labels: {},
    claimed: { labels: {} },
    requestedAtMs: startMs + index,
  };
  const on = { aggregate: { kind: 'cluster', id: `cluster-${index}` }, head: undefined } as const;
  const names = { clusterId: on.aggregate.id, clusterName: `edge-${index}` };
  const identity = identitySchema.parse({ state: 'requested', ...names, request });
  const decision = decisionSchema.parse({
    verdict: 'approved',
    requestId: request.id,
    key: request.key,
    approvedKey: request.key,
    clusterName: names.clusterName,
    namespace: names.clusterName,
    heartbeat: { intervalSeconds: 15, graceSeconds: 45 },
    by,
    ...what,
    decidedAtMs: startMs + index,
  });
  return [
    draft(requested, on, { ...what, section: identity }),
    draft(approved, on, { by, ...what, section: decision }),
  ];
}

/** Requests 0 to `decided` are decided at once; one more waits. */
function historyOf(decided: number): Pick<EventLog, 'scan'> {
  const drafts = Array.from({ length: decided }, (_, index) => join(index)).flat();
  const all = [...drafts, join(decided)[0] as EventDraft].map((one, index) => {
    const stamp = { epoch: 1, source: '/test', nowMs: startMs + index, correlation: 'c' };
    const { subject, headers, body } = encodeEvent(one, stamp);
    return decodeEvent({
      subject,
      sequence: index + 1,
      header: (name) => headers[name] ?? '',
      data: body,
    });
  });
  return {
    async *scan({ filter = '' }) {
      yield* all.filter((event) => filter === `${event.kind}.*.${event.type}`);
    },
  };
}

async function replay(decided: number, readsFleet: boolean) {
  const asked: PastRequest[][] = [];
  await replayRequests({
    log: historyOf(decided),
    fromMs: startMs,
    readsFleet,
    onSkip: (error) => expect.fail(error.message),
    async judge(all) {
      asked.push([...all]);
      return all.map(() => undefined);
    },
  });
  return asked;
}

test('all requests are judged, in order, the last and undecided one too', async () => {
  const asked = await replay(300, false);
  expect(asked.flat().map(({ identity }) => identity.clusterId)).toEqual(
    Array.from({ length: 301 }, (_, index) => `cluster-${index}`),
  );
  expect(asked.flat().map(({ decision }) => decision !== undefined)).toEqual([
    ...Array.from({ length: 300 }, () => true),
    false,
  ]);
  expect(asked.length).toBeLessThan(30);
});

test('where policies count the fleet, each is judged once what came before it is counted', async () => {
  const asked = await replay(5, true);
  expect(asked.map(({ length }) => length)).toEqual([1, 1, 1, 1, 1, 1]);
  expect(asked.flat().map(({ input }) => input.fleet.clusters)).toEqual([0, 1, 2, 3, 4, 5]);
});
