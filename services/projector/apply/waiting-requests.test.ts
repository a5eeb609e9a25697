import { createMetrics } from '@rollcall/shared/service';
import { expect, test } from 'vitest';
import { aDecision, anIdentity, aRecord, startMs } from '../tests/cluster-record.builder.ts';
import { createWaitingRequests, waitingOf } from './waiting-requests.ts';

const held = aDecision({ verdict: 'held' });
const another = anIdentity({ request: { ...anIdentity().request, id: 'request-2' } });

test.each([
  { name: 'nothing was asked', record: aRecord({}), want: undefined },
  { name: 'a request that nobody has judged', record: aRecord({ identity: anIdentity() }), want: 'pending' },
  { name: 'held', record: aRecord({ identity: anIdentity(), decision: held }), want: 'held' },
  { name: 'approved', record: aRecord({ identity: anIdentity(), decision: aDecision() }), want: undefined },
  {
    name: 'a newer request than the one that was approved',
    record: aRecord({ identity: another, decision: aDecision() }),
    want: 'pending',
  },
  {
    name: 'a newer request than the one that was held',
    record: aRecord({ identity: another, decision: held }),
    want: 'pending',
  },
  {
    name: 'refused by the registrar',
    record: aRecord({ identity: anIdentity({ state: 'refused' }) }),
    want: undefined,
  },
  {
    name: 'left',
    record: aRecord({ identity: anIdentity({ state: 'left' }), decision: held }),
    want: undefined,
  },
])('$name → $want', ({ record, want }) => {
  expect(waitingOf(record)?.state).toBe(want);
});

test('the oldest counts, by state, and nobody who was decided meanwhile', () => {
  const waiting = createWaitingRequests();
  const metrics = createMetrics('projector');
  const ofCluster = (id: string, record: ReturnType<typeof aRecord>) => ({
    ...record,
    aggregate: { ...record.aggregate, id },
  });
  waiting.note(ofCluster('a', aRecord({ identity: anIdentity() })));
  waiting.note(ofCluster('b', aRecord({ identity: anIdentity(), decision: held })));
  waiting.report(metrics, startMs + 60_000);
  const age = 'rollcall_oldest_waiting_request_age_seconds';
  expect(metrics.value(age, { state: 'pending' })).toBe(60);
  expect(metrics.value('rollcall_requests_waiting')).toBe(2);
  waiting.note(ofCluster('a', aRecord({ identity: anIdentity(), decision: aDecision() })));
  waiting.report(metrics, startMs + 90_000);
  expect(metrics.value(age, { state: 'pending' })).toBe(0);
  expect(metrics.value(age, { state: 'held' })).toBe(90);
  expect(waiting.count()).toBe(1);
  expect(waiting.oldestAgeSeconds(startMs + 90_000)).toBe(90);
});
