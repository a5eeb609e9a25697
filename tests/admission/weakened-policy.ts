import { admissionDifferences, readAdmission, shippedPolicies } from '@rollcall/shared/admission';
import { applyManifests, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { expect, vi } from 'vitest';
import { whyAdmissionIsMissing } from '../../services/approver/admission/probe.ts';
import type { GuardedHub } from './guarded-hub.ts';

const policies = resources.validatingAdmissionPolicies;
const bindings = resources.validatingAdmissionPolicyBindings;

/** By the probe's own rights, as the approver asks. */
export const whatIsWrong = (hub: GuardedHub) => admissionDifferences(hub.service('admission-probe'));

export const versionNow = async (hub: GuardedHub) =>
  (await readAdmission(hub.service('admission-probe'))).version;

async function restore(hub: GuardedHub, name: string): Promise<void> {
  await hub.admin.delete(policies, name).catch(() => undefined);
  await hub.admin.delete(bindings, name).catch(() => undefined);
  const mine = shippedPolicies().filter(({ metadata }) => metadata.name === name);
  await applyManifests(hub.admin, mine as KubeObject[]);
}

/** Weakens a policy in every way there is, one after the other. */
export async function expectWeakeningNamed(hub: GuardedHub, name: string): Promise<void> {
  const weakened = async (change: () => Promise<unknown>, problem: string) => {
    const before = await versionNow(hub);
    await change();
    expect(await versionNow(hub)).not.toBe(before);
    expect(await whatIsWrong(hub)).toEqual([{ policy: name, problem: expect.stringContaining(problem) }]);
    await restore(hub, name);
    expect(await whatIsWrong(hub)).toEqual([]);
    // However it was put back: what was written meanwhile was checked by nobody.
    expect(await versionNow(hub)).toEqual(expect.any(String));
    expect(await versionNow(hub)).not.toBe(before);
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
}

/** Nobody reads that a policy is not bound any more: it is tried. */
export async function expectSeenByTrying(hub: GuardedHub, name: string): Promise<void> {
  const binding = await hub.admin.get<KubeObject>(bindings, { name });
  await hub.admin.delete(bindings, name);
  const untilProbe = (isSo: (why: string | undefined) => boolean) =>
    vi.waitFor(
      async () => expect(isSo(await whyAdmissionIsMissing(hub.service('admission-probe')))).toBe(true),
      {
        timeout: 20_000,
      },
    );
  await untilProbe((why) => why?.includes(`what ${name} must refuse was not refused`) === true);
  const { apiVersion, kind, spec } = binding as KubeObject;
  await hub.admin.create(bindings, { apiVersion, kind, metadata: { name }, spec });
  await untilProbe((why) => why === undefined);
}
