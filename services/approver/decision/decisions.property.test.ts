import fc from 'fast-check';
import type { EventDraft } from '@rollcall/shared/events';
import { keyFingerprint } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { type ClusterObject, decideClusterChange } from '../people/cluster-change.ts';
import { decidePersonDecision } from '../people/person-decision.ts';
import { decideRequest } from '../requests/decide-request.ts';
import { type PolicyOutcome } from '../requests/judgement.ts';
import { decideRevocation, mayEndInRevoked } from './events-after-decision.ts';
import { anIdentity, aRequest, clusterId, heartbeat, History, nowMs } from '../tests/builders.ts';

const key = fc.constantFrom('K1', 'K2', 'K3');
const effect = fc.constantFrom('Approve', 'Hold', 'Deny');
const step = fc.oneof(
  fc.record({ do: fc.constant('ask'), key }),
  fc.record({
    do: fc.constant('judge'),
    effects: fc.array(effect, { maxLength: 3 }),
    failed: fc.boolean(),
    late: fc.boolean(),
  }),
  fc.record({ do: fc.constant('person'), key, verdict: fc.constantFrom('Approve', 'Deny') }),
  fc.record({
    do: fc.constant('cluster'),
    accepts: fc.constantFrom(true, false, undefined),
    deleted: fc.boolean(),
    uid: fc.constantFrom('u1', 'u2'),
  }),
  fc.record({ do: fc.constant('settle') }),
  fc.record({ do: fc.constant('leave') }),
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;
type Judging = Extract<Step, { do: 'judge' }>;

function outcomeOf({ effects, failed, late }: Judging): PolicyOutcome {
  if (late) return { kind: 'timeout', deadlineMs: 100 };
  const matches = effects.map((each) => ({
    policy: 'p',
    generation: 1,
    rule: { name: each, when: 'true', effect: each },
  }));
  const failures = failed ? [{ policy: 'p', generation: 1, rule: 'broken', message: 'm' }] : [];
  return { kind: 'evaluated', matches, failures };
}

const clusterObject = (accepts: boolean | undefined, deleted: boolean, uid: string): ClusterObject => ({
  apiVersion: 'rollcall.dev/v1alpha1',
  kind: 'ManagedCluster',
  metadata: {
    name: 'alpha',
    uid,
    resourceVersion: '1',
    ...(deleted ? { deletionTimestamp: 'now', finalizers: ['rollcall.dev/leave'] } : {}),
  },
  spec: {
    clusterId,
    clusterType: 'Standard',
    mode: 'Pull',
    namespacePolicy: 'Delete',
    access: 'None',
    ...(accepts === undefined ? {} : { hubAcceptsClient: accepts }),
  },
});

/** Plays one step as the services would, at its own hub time. */
function play(history: History, next: Step, at: number): readonly EventDraft[] {
  const { record } = history;
  const { identity, decision } = record;
  const base = { record, heartbeat, leaveWaitMs: 30_000, nowMs: nowMs + at };
  switch (next.do) {
    case 'ask': {
      const isMember = decision?.approvedKey !== undefined && identity?.admittedKey === decision.approvedKey;
      const mayAsk = decision?.verdict !== 'leaving' || identity?.state === 'left';
      if (mayAsk && identity?.request.key !== next.key) {
        const known = isMember ? { admittedKey: decision.approvedKey } : {};
        history.identity(anIdentity({ ...known, request: aRequest({ id: `R${at}`, key: next.key }) }));
      }
      return [];
    }
    case 'judge':
      return history.apply(decideRequest({ ...base, outcome: outcomeOf(next) }));
    case 'person': {
      const said = {
        verdict: next.verdict,
        keyFingerprint: keyFingerprint(next.key),
        by: 'anna',
        reason: undefined,
        digest: `d${at}`,
        shown: { epoch: 1, sequence: 1_000_000 },
      } as const;
      return history.apply(decidePersonDecision({ ...base, decision: said }));
    }
    case 'cluster':
      return history.apply(
        decideClusterChange({ ...base, object: clusterObject(next.accepts, next.deleted, next.uid) }),
      );
    case 'settle':
      return history.apply(decideRevocation(record));
    case 'leave':
      if (decision?.verdict === 'leaving' && identity) {
        const { admittedKey: _gone, ...rest } = identity;
        history.identity({ ...rest, state: 'left' });
      }
      return [];
  }
}

/** What must never be, in words; nothing when all is well. */
function violations(history: History, before: History['record'], next: Step): string[] {
  const { decision } = history.record;
  if (!decision) return [];
  const out = new Set(decision.revokedKeys.map((revoked) => revoked.key));
  const wasIn = before.decision?.approvedKey;
  const isIn = decision.approvedKey;
  const found: string[] = [];
  if (isIn !== undefined && out.has(isIn)) found.push('a key is in and taken back');
  if (decision.verdict === 'approved' && isIn !== decision.key) found.push('the approved key is not in');
  if (wasIn !== undefined && isIn !== wasIn && !out.has(wasIn)) found.push('a key that was in is forgotten');
  if (next.do !== 'judge' || isIn === wasIn) return found;
  // From here on a policy has let a key in, or put one out.
  if (isIn === undefined) return wasIn === undefined ? found : [...found, 'a policy put a member out'];
  if (wasIn !== undefined) found.push('a policy replaced a key');
  if (next.failed || next.late) found.push('a policy approved in doubt');
  if (!next.effects.includes('Approve')) found.push('nobody approved');
  if (next.effects.includes('Deny') || next.effects.includes('Hold'))
    found.push('approve heartbeat deny or hold');
  if (before.decision?.revokedKeys.some(({ key: taken }) => taken === isIn))
    found.push('a policy let in what was taken back');
  return found;
}

test('over random histories nobody is let in without a rule or a person, and nobody who was in is forgotten', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
      const history = new History().identity(anIdentity());
      for (const [at, next] of steps.entries()) {
        const before = history.record;
        expect(play(history, next, at + 1).length).toBeLessThanOrEqual(1);
        expect(violations(history, before, next)).toEqual([]);
        // Only what may end in it is looked at again when it is heard.
        const last = history.record.lastOf.approver;
        const isPassedOver = last !== undefined && !mayEndInRevoked(last);
        expect(isPassedOver && decideRevocation(history.record).length > 0).toBe(false);
        // Revoking ends: once said, it is not said again.
        history.apply(decideRevocation(history.record));
        expect(decideRevocation(history.record)).toEqual([]);
      }
    }),
    { numRuns: 2000 },
  );
});

test('judging twice changes nothing', () => {
  fc.assert(
    fc.property(fc.array(effect, { maxLength: 3 }), fc.boolean(), fc.boolean(), (effects, failed, late) => {
      const history = new History().identity(anIdentity());
      const judging = { do: 'judge', effects, failed, late } as const;
      expect(play(history, judging as Judging, 1)).toHaveLength(1);
      expect(play(history, judging as Judging, 2)).toEqual([]);
    }),
  );
});
