import {
  fencePolicyNames,
  fenceDifferences,
  foreignMutators,
  readFence,
  shippedFence,
} from '@rollcall/shared/fence';
import { applyManifests, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { whyFenceIsMissing } from '../../services/approver/admission/probe.ts';
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

const versionNow = async () => (await readFence(hub.service('fence-probe'))).version;

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
    const before = await versionNow();
    await change();
    expect(await versionNow()).not.toBe(before);
    expect(await whatIsWrong()).toEqual([{ policy: name, problem: expect.stringContaining(problem) }]);
    await restore(name);
    expect(await whatIsWrong()).toEqual([]);
    // However it was put back: what was written meanwhile was checked by nobody.
    expect(await versionNow()).toEqual(expect.any(String));
    expect(await versionNow()).not.toBe(before);
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

test.each(fencePolicyNames)(
  '%s: that the API server does not act on it is seen by trying it',
  async (name) => {
    const binding = await hub.admin.get<KubeObject>(bindings, { name });
    await hub.admin.delete(bindings, name);
    const untilProbe = (isSo: (why: string | undefined) => boolean) =>
      vi.waitFor(async () => expect(isSo(await whyFenceIsMissing(hub.service('fence-probe')))).toBe(true), {
        timeout: 20_000,
      });
    await untilProbe((why) => why?.includes(`what ${name} must refuse was not refused`) === true);
    const { apiVersion, kind, spec } = binding as KubeObject;
    await hub.admin.create(bindings, { apiVersion, kind, metadata: { name }, spec });
    await untilProbe((why) => why === undefined);
  },
);

test('mutating admission of others on our kinds is listed, and ours is not', async () => {
  expect(await foreignMutators(hub.admin)).toEqual([]);
  const rules = [
    {
      apiGroups: ['*'],
      apiVersions: ['*'],
      operations: ['UPDATE'],
      resources: ['clusterregistrationrequests'],
    },
  ];
  const webhook = {
    name: 'turns.example.com',
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    failurePolicy: 'Ignore',
    clientConfig: { url: 'https://127.0.0.1:1/' },
  };
  const made = (name: string, more: object) => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name },
    webhooks: [{ ...webhook, ...more }],
  });
  const kind = resources.mutatingWebhookConfigurations;
  await hub.admin.create(kind, made('turns', { rules }));
  await hub.admin.create(kind, made('others', { rules: [{ ...rules[0], apiGroups: ['apps'] }] }));
  expect(await foreignMutators(hub.admin)).toEqual(['MutatingWebhookConfiguration turns']);
  for (const name of ['turns', 'others']) await hub.admin.delete(kind, name);
});
