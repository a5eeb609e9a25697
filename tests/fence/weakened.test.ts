import { fencePolicyNames, fenceDifferences, shippedFence } from '@rollcall/shared/fence';
import { applyManifests, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { whyFenceIsMissing } from '../../services/approver/fence-probe.ts';
import { type FencedHub, startFencedHub } from './fenced-hub.ts';

const policies = resources.validatingAdmissionPolicies;
const bindings = resources.validatingAdmissionPolicyBindings;
let hub: FencedHub;
beforeAll(async () => {
  hub = await startFencedHub();
});
afterAll(() => hub?.[Symbol.asyncDispose]());

/** By the probe's own rights, as the approver asks. */
const whatIsWrong = () => fenceDifferences(hub.service('fence-probe'));

async function restore(name: string): Promise<void> {
  await hub.admin.delete(policies, name).catch(() => undefined);
  await hub.admin.delete(bindings, name).catch(() => undefined);
  const mine = shippedFence().filter(({ metadata }) => metadata.name === name);
  await applyManifests(hub.admin, mine as KubeObject[]);
}

test('the shipped fence, as the API server keeps it, is found to be in place', async () => {
  expect(await whatIsWrong()).toEqual([]);
  await vi.waitFor(async () => expect(await whyFenceIsMissing(hub.service('fence-probe'))).toBeUndefined(), {
    timeout: 20_000,
  });
});

test('the list of policies is that of deploy/fence', () => {
  const shipped = shippedFence().filter(({ kind }) => kind === policies.kind);
  expect(shipped.map(({ metadata }) => metadata.name).toSorted()).toEqual([...fencePolicyNames].toSorted());
});

test.each(fencePolicyNames)('%s: whatever weakens it is named', async (name) => {
  const weakened = async (change: () => Promise<unknown>, problem: string) => {
    await change();
    expect(await whatIsWrong()).toEqual([{ policy: name, problem: expect.stringContaining(problem) }]);
    await restore(name);
    expect(await whatIsWrong()).toEqual([]);
  };
  const patchPolicy = (spec: object) => () => hub.admin.mergePatch(policies, name, { spec });
  const patchBinding = (spec: object) => () => hub.admin.mergePatch(bindings, name, { spec });
  await weakened(patchBinding({ validationActions: ['Warn'] }), 'does not deny');
  await weakened(patchBinding({ validationActions: ['Audit', 'Deny'] }), 'was changed');
  await weakened(
    patchBinding({ matchResources: { namespaceSelector: { matchLabels: { a: 'b' } } } }),
    'was changed',
  );
  await weakened(patchPolicy({ failurePolicy: 'Ignore' }), 'lets errors pass');
  await weakened(patchPolicy({ validations: [{ expression: 'true' }] }), 'was changed');
  await weakened(patchPolicy({ matchConditions: [{ name: 'never', expression: 'false' }] }), 'was changed');
  await weakened(
    patchPolicy({ matchConstraints: { objectSelector: { matchLabels: { a: 'b' } } } }),
    'was changed',
  );
  await weakened(() => hub.admin.delete(bindings, name), 'is missing');
  await weakened(() => hub.admin.delete(policies, name), 'is missing');
});
