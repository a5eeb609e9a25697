import type { EventLog } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import {
  type AggregateId,
  aggregateSubjects,
  clusterRecord,
  draft,
  type EventDraft,
  foldRecord,
  held,
  policyDeclared,
  requested,
  revoked,
  type StoredEvent,
} from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';
import { expect, test } from 'vitest';
import { aDecision, anIdentity, aRequest, heartbeat, nowMs, stored } from '../tests/builders.ts';
import { judgeAsTimePasses, judgeHeldRequests, type JudgeParts, judgeRequest } from './judge-requests.ts';

const silent = (): void => undefined;
const logger: Logger = { debug: silent, info: silent, warn: silent, error: silent, child: () => logger };
const ids = ['c-1', 'c-2', 'c-3'] as const;
const rule = { name: 'all', effect: 'Approve' as const, when: 'time.hour >= 0' };

/** Three clusters wait, and a rule that reads the time approves all of them. */
function threeWait(failing: Readonly<Record<string, RollcallError>>) {
  const events: StoredEvent[] = [];
  let reads = 0;
  const write = (...drafts: readonly EventDraft[]) => {
    for (const each of drafts) events.push(stored(each, events.length + 1));
  };
  const recordOf = ({ kind, id }: AggregateId) =>
    foldRecord(
      { kind, id },
      events.filter((event) => event.kind === kind && event.id === id),
    );
  const on = (kind: AggregateId['kind'], id: string) => ({ aggregate: { kind, id }, head: undefined });
  const what = { reason: 'R', message: 'm' };
  const policy = { name: 'p', uid: 'u', generation: 1, rules: [rule], withdrawn: false };
  write(draft(policyDeclared, on('policy', 'p'), { ...what, section: policy }));
  for (const id of ids) {
    const request = aRequest({ id: `of-${id}`, key: `K-${id}` });
    const section = anIdentity({ clusterId: id, request });
    write(draft(requested, on('cluster', id), { ...what, section }));
    const decision = aDecision({ verdict: 'held', requestId: request.id, key: request.key });
    write(draft(held, on('cluster', id), { ...what, section: decision }));
  }
  const log = {
    async read(aggregate: AggregateId) {
      reads++;
      const error = failing[aggregate.id];
      if (error) throw error;
      aggregateSubjects(aggregate);
      return recordOf(aggregate);
    },
    readAll: async () => events.filter(({ kind }) => kind === 'policy'),
    async *scan() {
      yield* events.filter(({ type }) => type === 'held');
    },
    append: async (drafts: readonly EventDraft[]) => write(...drafts),
  } as unknown as EventLog;
  const parts: JudgeParts = {
    log,
    logger,
    evaluator: {
      evaluate: async () => ({
        kind: 'evaluated',
        answer: { matches: [{ policy: 'p', rule: 'all' }], failures: [] },
      }),
      close: async () => undefined,
    },
    fleet: {
      now: () => Promise.reject(new Error('nobody reads the counts')),
      pending: async () => ids,
      setCounting: silent,
      inTurn: (work) => work(silent),
    },
    deadlineMs: 100,
    heartbeat,
    leaveWaitMs: 1000,
    nowMs: () => nowMs,
  };
  const approved = () => events.flatMap(({ type, id }) => (type === 'approved' ? [id] : []));
  return { parts, approved, write, recordOf, reads: () => reads };
}

const newer = new RollcallError('EVENT_VERSION_UNKNOWN', 'of a newer version');

test.each([
  { when: 'as time passes', look: judgeAsTimePasses },
  { when: 'when a policy has changed', look: judgeHeldRequests },
])('$when, one that only a newer version can read keeps no other request waiting', async ({ look }) => {
  const { parts, approved } = threeWait({ 'c-1': newer });
  await expect(look(parts)).rejects.toThrow(newer);
  expect(approved()).toEqual(['c-2', 'c-3']);
});

test('where the bus is away nobody else is tried', async () => {
  const away = new RollcallError('BUS_UNREACHABLE', 'away');
  const { parts, reads } = threeWait({ 'c-1': away });
  await expect(judgeHeldRequests(parts)).rejects.toThrow(away);
  expect(reads()).toBe(1);
});

test('a new key that is asked for without a token, and whose voucher was taken back meanwhile, waits for a person', async () => {
  const { parts, write, recordOf } = threeWait({});
  const aggregate = { kind: 'cluster', id: 'c-9' } as const;
  const [on, what] = [
    { aggregate, head: undefined },
    { reason: 'R', message: 'm' },
  ];
  const rotation = { from: 'K1', proof: { signed: '{}', signatures: {} } };
  const request = aRequest({ id: 'R2', key: 'K2', tokenId: '', tokenName: '', rotation });
  const section = anIdentity({ clusterId: 'c-9', state: 'admitted', admittedKey: 'K1', request });
  write(draft(requested, on, { ...what, section }));
  const out = aDecision({ verdict: 'revoked', revokedKeys: [{ key: 'K1', atMs: 1 }] });
  write(draft(revoked, on, { ...what, section: out }));
  await judgeRequest(parts, 'c-9', { correlation: 'R2' });
  expect(clusterRecord(recordOf(aggregate)).decision).toMatchObject({
    verdict: 'held',
    reason: 'KeyChanged',
    requestId: 'R2',
  });
});
