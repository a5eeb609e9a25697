import fc from 'fast-check';
import type { EventDraft } from '@rollcall/shared/events';
import { keyFingerprint } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { type ClusterObject, decideClusterWish } from './cluster-wish.ts';
import { decidePersonDecision } from './person-decision.ts';
import { decideRequest, type PolicyOutcome } from './policy-verdict.ts';
import { decideRevocation } from './settle-clusters.ts';
import { anIdentity, aRequest, clusterId, heartbeat, History, nowMs } from './tests/builders.ts';

const key = fc.constantFrom('K1', 'K2', 'K3');
const effect = fc.constantFrom('Approve', 'Hold', 'Deny');
const step = fc.oneof(
  fc.record({ do: fc.constant('ask'), key }),
  fc.record({ do: fc.constant('judge'), effects: fc.array(effect, { maxLength: 3 }), failed: fc.boolean(), late: fc.boolean() }),
  fc.record({ do: fc.constant('person'), key, verdict: fc.constantFrom('Approve', 'Deny') }),
  fc.record({ do: fc.constant('cluster'), accepts: fc.constantFrom(true, false, undefined), deleted: fc.boolean(), uid: fc.constantFrom('u1', 'u2') }),
  fc.record({ do: fc.constant('settle') }),
  fc.record({ do: fc.constant('leave') }),
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;
type Judging = Extract<Step, { do: 'judge' }>;

function outcomeOf({ effects, failed, late }: Judging): PolicyOutcome {
  if (late) return { kind: 'timeout', deadlineMs: 100 };
  const matches = effects.map((each) => ({ policy: 'p', generation: 1, rule: { name: each, when: 'true', effect: each } }));
  const failures = failed ? [{ policy: 'p', generation: 1, rule: 'broken', message: 'm' }] : [];
  return { kind: 'evaluated', matches, failures };
}

const clusterObject = (accepts: boolean | undefined, deleted: boolean, uid: string): ClusterObject => ({
  apiVersion: 'rollcall.dev/v1alpha1',
  kind: 'ManagedCluster',
  metadata: { name: 'alpha', uid, resourceVersion: '1', ...(deleted ? { deletionTimestamp: 'now', finalizers: ['rollcall.dev/leave'] } : {}) },
  spec: { clusterId, clusterType: 'Standard', mode: 'Pull', namespacePolicy: 'Delete', access: 'None', ...(accepts === undefined ? {} : { hubAcceptsClient: accepts }) },
});

/** Plays one step as the services would, at its own hub time. */
function play(history: History, next: Step, at: number): readonly EventDraft[] {
  const { record } = history;
  const { identity, decision } = record;
  const base = { record, heartbeat, nowMs: nowMs + at };
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
      const wish = { verdict: next.verdict, keyFingerprint: keyFingerprint(next.key), by: 'anna', reason: undefined, digest: `d${at}` } as const;
      const drafts = history.apply(decidePersonDecision({ ...base, wish }));
      if (drafts.length > 0) expect(decidePersonDecision({ ...base, record: history.record, wish })).toEqual([]);
      return drafts;
    }
    case 'cluster':
      return history.apply(decideClusterWish({ ...base, object: clusterObject(next.accepts, next.deleted, next.uid) }));
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

function check(history: History, before: History['record'], drafts: readonly EventDraft[], next: Step): void {
  const { decision } = history.record;
  if (!decision) return;
  // Whoever is in is not taken back, and whoever was in and is not any more is taken back in the same event.
  expect(decision.revokedKeys.map((revoked) => revoked.key)).not.toContain(decision.approvedKey);
  if (decision.verdict === 'approved') expect(decision.approvedKey).toBe(decision.key);
  const wasIn = before.decision?.approvedKey;
  if (wasIn !== undefined && decision.approvedKey !== wasIn) {
    expect(decision.revokedKeys.map((revoked) => revoked.key)).toContain(wasIn);
  }
  const [event] = drafts;
  if (event?.definition.type !== 'approved' || next.do !== 'judge') return;
  // A policy lets in only what it names without any doubt, and never another key than the known one.
  if (wasIn === decision.key) return;
  expect(next).toMatchObject({ failed: false, late: false });
  expect(next.effects).toContain('Approve');
  expect(next.effects).not.toContain('Deny');
  expect(next.effects).not.toContain('Hold');
  expect(wasIn).toBeUndefined();
  expect(before.decision?.revokedKeys.map((revoked) => revoked.key) ?? []).not.toContain(decision.key);
}

test('over random histories nobody is let in without a rule or a person, and nobody who was in is forgotten', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
      const history = new History().identity(anIdentity());
      for (const [at, next] of steps.entries()) {
        const before = history.record;
        const drafts = play(history, next, at + 1);
        expect(drafts.length).toBeLessThanOrEqual(1);
        check(history, before, drafts, next);
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
