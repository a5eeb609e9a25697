import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError } from '@rollcall/shared/errors';
import { policyDeclaration } from '@rollcall/shared/events';
import type { KubeObject } from '@rollcall/shared/kubernetes';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { nowMs } from '../tests/builders.ts';
import { aMomentMs, setPeopleStage } from '../tests/people-stage.ts';
import { startObjectController } from './object-controller.ts';
import { declaredPolicies } from './declared-kinds.ts';

const narrow = { name: 'narrow', when: 'request.labels[?"a"].orValue("") == "b"', effect: 'Approve' };
const all = { name: 'all', when: 'true', effect: 'Approve' };
const policy = (version: number, { uid, rules }: { uid: string; rules: readonly object[] }) =>
  ({
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ApprovalPolicy',
    metadata: { name: 'prod', uid, resourceVersion: String(version), generation: version },
    spec: { rules },
  }) as unknown as KubeObject;
const first = policy(1, { uid: 'u1', rules: [narrow] });
/** By nobody knows whom: the admission policies are down when it is written. */
const unchecked = policy(3, { uid: 'u2', rules: [all] });
const uncheckedChange = policy(3, { uid: 'u1', rules: [all] });

let stage: ReturnType<typeof setPeopleStage>;
beforeEach(async () => {
  stage = setPeopleStage();
  const { log, client, logger, gate } = stage;
  startObjectController(
    { log, client, logger, gate, nowMs: () => nowMs },
    declaredPolicies(logger),
  ).whenSynced.catch(() => undefined);
  watch().tell('ADDED', first);
  watch().synced();
  await vi.waitUntil(() => inForce().includes('narrow'));
});
afterEach(() => stage.stop());

const watch = () => stage.watch('approvalpolicies');
const inForce = () => {
  const declared = policyDeclaration(stage.recordOf({ kind: 'policy', id: 'prod' }));
  return declared?.withdrawn === false ? declared.rules.map(({ name }) => name) : [];
};
/** The policies go down, and a version is written then that nobody checks. */
async function fall(type: 'ADDED' | 'MODIFIED', object: KubeObject): Promise<void> {
  stage.missing = 'rollcall-policies is missing';
  watch().tell(type, object);
  await delay(aMomentMs);
}
/** What happens once, before the next step of that kind. */
function once(step: 'read' | 'append' | 'look', happens: () => Promise<void>): void {
  stage.before[step] = () => {
    stage.before[step] = () => undefined;
    return happens();
  };
}

test.each(['read', 'append', 'look'] as const)(
  'a policy that is changed while the policies are down, just before the %s of a harmless change, is not in force',
  async (step) => {
    once(step, async () => {
      await fall('MODIFIED', uncheckedChange);
      if (step === 'append') throw new RollcallError('APPEND_CONFLICT', 'another replica was faster');
    });
    watch().tell('MODIFIED', policy(2, { uid: 'u1', rules: [{ ...narrow, reason: 'harmless' }] }));
    await expect.poll(() => stage.looks).toBeGreaterThan(1);
    await delay(3 * aMomentMs);
    expect(inForce()).toEqual(['narrow']);
  },
);

test.each(['read', 'append'] as const)(
  'a policy that is deleted and made again while the policies are down, just before the %s of its end, is not in force',
  async (step) => {
    once(step, async () => {
      await fall('ADDED', unchecked);
      if (step === 'append') throw new RollcallError('APPEND_CONFLICT', 'another replica was faster');
    });
    stage.missing = 'rollcall-policies is missing';
    watch().tell('DELETED', first);
    await expect.poll(() => stage.looks).toBeGreaterThan(1);
    await delay(3 * aMomentMs);
    expect(inForce()).not.toContain('all');
  },
);

test('what was written after the policies were seen to hold is in force after the next look', async () => {
  once('look', async () => {
    watch().tell('MODIFIED', policy(3, { uid: 'u1', rules: [all] }));
    await delay(aMomentMs);
  });
  watch().tell('MODIFIED', policy(2, { uid: 'u1', rules: [{ ...narrow, reason: 'harmless' }] }));
  await expect.poll(() => inForce()).toEqual(['all']);
});
