import { setTimeout as delay } from 'node:timers/promises';
import {
  admissionPolicyNames,
  foreignMutators,
  shippedPolicies,
  shippedAttribution,
} from '@rollcall/shared/admission';
import { applyManifests, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import type { Logger } from '@rollcall/shared/service';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { examineKubernetes } from '../../cli/doctor/examine-kubernetes.ts';
import { judgeHub } from '../../cli/status/hub-status.ts';
import { readKubernetesSide } from '../../cli/status/read-sides.ts';
import { statusText } from '../../cli/status/status-text.ts';
import { startAdmissionProbe, whyAdmissionIsMissing } from '../../services/approver/admission/probe.ts';
import { type GuardedHub, startGuardedHub } from './guarded-hub.ts';
import { expectSeenByTrying, expectWeakeningNamed, versionNow, whatIsWrong } from './weakened-policy.ts';

const policies = resources.validatingAdmissionPolicies;
const bindings = resources.validatingAdmissionPolicyBindings;
const mutatingPolicies = resources.mutatingAdmissionPolicies;
const mutatingBindings = resources.mutatingAdmissionPolicyBindings;
let hub: GuardedHub;
beforeAll(async () => {
  hub = await startGuardedHub();
});
afterAll(() => hub?.[Symbol.asyncDispose]());

test('the shipped admission, as the API server keeps it, is found to be in place', async () => {
  expect(await whatIsWrong(hub)).toEqual([]);
  await vi.waitFor(
    async () => expect(await whyAdmissionIsMissing(hub.service('admission-probe'))).toBeUndefined(),
    {
      timeout: 20_000,
    },
  );
});

test('the list of policies is that of deploy/admission', () => {
  const shipped = shippedPolicies().filter(({ kind }) => kind === policies.kind);
  expect(shipped.map(({ metadata }) => metadata.name).toSorted()).toEqual(
    [...admissionPolicyNames].toSorted(),
  );
});

/** Some of them; `each-weakened.test.ts` has them all, in minutes. */
const some = ['rollcall-accept', 'rollcall-operation', 'rollcall-provisioner'] as const;

test.each(some)('%s: whatever weakens it is named', (name) => expectWeakeningNamed(hub, name));

test.each(some)('%s: that the API server does not act on it is seen by trying it', (name) =>
  expectSeenByTrying(hub, name),
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

const attributionNames = shippedAttribution()
  .filter(({ kind }) => kind === mutatingPolicies.kind)
  .map(({ metadata }) => metadata.name as string);
const attributionOf = (name: string) =>
  shippedAttribution().filter(({ metadata }) => metadata.name === name) as KubeObject[];

test.each(attributionNames)(
  '%s: whoever changes it, for a moment too, makes another version',
  async (name) => {
    const put = async () => {
      await hub.admin.delete(mutatingPolicies, name).catch(() => undefined);
      await hub.admin.delete(mutatingBindings, name).catch(() => undefined);
      await applyManifests(hub.admin, attributionOf(name));
    };
    const forAMoment = async (change: () => Promise<unknown>) => {
      const before = await versionNow(hub);
      expect(before).toEqual(expect.any(String));
      await change();
      await put();
      expect(await whatIsWrong(hub)).toEqual([]);
      expect(await versionNow(hub)).not.toBe(before);
    };
    const never = { matchConditions: [{ name: 'never', expression: 'false' }] };
    await forAMoment(() => hub.admin.mergePatch(mutatingPolicies, name, { spec: never }));
    await forAMoment(() => hub.admin.delete(mutatingBindings, name));
    // Where there are none, as below Kubernetes 1.36, the admission policies are whole as well.
    await hub.admin.delete(mutatingPolicies, name);
    await hub.admin.delete(mutatingBindings, name);
    expect(await versionNow(hub)).toEqual(expect.any(String));
    expect(await whatIsWrong(hub)).toEqual([]);
    await put();
  },
);

const silent = (): void => undefined;
const logger: Logger = { debug: silent, info: silent, warn: silent, error: silent, child: () => logger };
describe('by watch alone it is noticed that', () => {
  test.each([
    { resource: policies, name: 'rollcall-operation' },
    { resource: bindings, name: 'rollcall-operation' },
    { resource: mutatingPolicies, name: 'rollcall-attribution-operation' },
    { resource: mutatingBindings, name: 'rollcall-attribution-operation' },
  ])('$resource.kind $name is deleted', async ({ resource, name }) => {
    const versions: (string | undefined)[] = [];
    const probe = startAdmissionProbe({
      client: hub.service('admission-probe'),
      logger,
      everyMs: 3_600_000,
      onChange: ({ version }) => versions.push(version),
    });
    try {
      await vi.waitUntil(() => versions.at(-1) !== undefined, { timeout: 20_000 });
      // Until all watches have told what is there: each of that is a reason to look as well.
      await delay(1500);
      const seen = versions.length;
      await hub.admin.delete(resource, name);
      await vi.waitFor(() => expect(versions.length).toBeGreaterThan(seen), { timeout: 8000 });
    } finally {
      probe.stop();
      await applyManifests(hub.admin, [...shippedPolicies(), ...shippedAttribution()] as KubeObject[]);
    }
  });
});

test('a mutating policy of others on our kinds is listed, by `rollcall status` and `rollcall doctor` too', async () => {
  const rule = { apiVersions: ['*'], operations: ['UPDATE'], resources: ['*'] };
  const foreign = (name: string, apiGroup: string) => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: mutatingPolicies.kind,
    metadata: { name },
    spec: {
      failurePolicy: 'Ignore',
      reinvocationPolicy: 'Never',
      matchConstraints: { resourceRules: [{ ...rule, apiGroups: [apiGroup] }] },
      mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression: 'Object{}' } }],
    },
  });
  const told = async () => {
    const status = judgeHub(
      { answers: [], streams: {}, server: undefined, version: undefined },
      await readKubernetesSide(hub.admin),
    );
    const findings = await examineKubernetes(hub.admin);
    return {
      status: statusText(status)
        .split('\n')
        .filter((line) => line.startsWith('Mutating')),
      doctor: findings.filter(({ check }) => check === 'mutating admission'),
    };
  };
  expect(await told()).toMatchObject({ status: [], doctor: [{ outcome: 'ok' }] });
  await hub.admin.create(mutatingPolicies, foreign('turns-all', 'rollcall.dev'));
  await hub.admin.create(mutatingPolicies, foreign('others', 'apps'));
  expect(await foreignMutators(hub.admin)).toEqual(['MutatingAdmissionPolicy turns-all']);
  expect(await told()).toMatchObject({
    status: [expect.stringContaining('MutatingAdmissionPolicy turns-all')],
    doctor: [
      {
        outcome: 'finding',
        message: expect.stringContaining('MutatingAdmissionPolicy turns-all may change'),
      },
    ],
  });
  for (const name of ['turns-all', 'others']) await hub.admin.delete(mutatingPolicies, name);
});
