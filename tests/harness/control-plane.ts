import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import {
  apiVersionOf,
  applyManifests,
  createKubeClient,
  type KubeClient,
  kubeconfigYaml,
  type KubeObject,
  type Resource,
  resources,
} from '@rollcall/shared/kubernetes';
import { annotations } from '@rollcall/shared/resources';
import { type ControlPlane, startControlPlane } from '../../cli/up/control-plane/control-plane.ts';
import { manifestsIn, onceServed } from '../../cli/up/hub-manifests.ts';

/** A real etcd and kube-apiserver with our CRDs, roles and admission policies. */
export interface TestControlPlane extends AsyncDisposable {
  readonly plane: ControlPlane;
  readonly admin: KubeClient;
  clientFor(user: string, groups?: readonly string[]): KubeClient;
  /** A kubeconfig of that user, for a service's settings. */
  kubeconfigFor(user: string, groups?: readonly string[]): string;
}

/** The user of a hub service, as RBAC and the admission policies know it. */
export function serviceUser(name: string): string {
  return `system:serviceaccount:rollcall-system:rollcall-${name}`;
}

/** Gives a user a ClusterRole, everywhere. */
export async function bindRole(admin: KubeClient, user: string, role: string): Promise<void> {
  const apiGroup = 'rbac.authorization.k8s.io';
  const { clusterRoleBindings: resource } = resources;
  const binding = {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { name: `${user}-${role}` },
    roleRef: { apiGroup, kind: 'ClusterRole', name: role },
    subjects: [{ apiGroup, kind: 'User', name: user }],
  };
  await applyManifests(admin, [binding as KubeObject]);
}

const mostStarts = 3;

/** A port that was free when it was drawn can be somebody's connection when the server wants it; then with others. */
async function startSomewhere(
  options: Omit<Parameters<typeof startControlPlane>[0], 'stateDir'>,
): Promise<{ stateDir: string; plane: ControlPlane }> {
  for (let start = 1; ; start++) {
    const stateDir = mkdtempSync(join(tmpdir(), 'rollcall-plane-'));
    try {
      return { stateDir, plane: await startControlPlane({ stateDir, ...options }) };
    } catch (error) {
      rmSync(stateDir, { recursive: true, force: true });
      const isPort = error instanceof RollcallError && error.message.includes('address already in use');
      if (!isPort || start === mostStarts) throw error;
    }
  }
}

/** Of each kind whose author the API server fills in. */
const attributedObjects: readonly { resource: Resource; namespace?: string; spec: object }[] = [
  { resource: resources.managedClusters, spec: {} },
  { resource: resources.managedClusterSets, spec: {} },
  {
    resource: resources.approvalPolicies,
    spec: { rules: [{ name: 'probe', when: 'true', effect: 'Hold' }] },
  },
  {
    resource: resources.clusterRegistrationTokens,
    namespace: 'rollcall-join',
    spec: { publish: true },
  },
];

const attributedWithinMs = 60_000;

/**
 * The API server looks for policies once a second and for kinds every five: in between nobody fills in names, and after that, for seconds,
 * it refuses kinds that the policy does not know yet. So what counts is a name that was seen.
 */
async function untilAttributed(admin: KubeClient): Promise<void> {
  const deadlineMs = performance.now() + attributedWithinMs;
  for (const { resource, namespace, spec } of attributedObjects) {
    const metadata = { name: 'probe', ...(namespace === undefined ? {} : { namespace }) };
    const object = { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata, spec };
    for (;;) {
      const tried = await admin.create<KubeObject>(resource, object, { dryRun: true }).catch(toRollcallError);
      if (!(tried instanceof RollcallError) && tried.metadata.annotations?.[annotations.changedBy]) break;
      if (performance.now() > deadlineMs) throw new Error(`no name on a ${resource.kind}`, { cause: tried });
      await delay(100);
    }
  }
}

export async function startTestControlPlane(
  options: {
    withControllerManager?: boolean;
    withManifests?: boolean;
    auditPolicy?: 'none' | 'metadata';
    /** Default: as `rollcall up` has it on its own hub, and all kinds on a member. */
    withWorkloads?: boolean;
  } = {},
): Promise<TestControlPlane> {
  const { withControllerManager = false, withManifests = true, auditPolicy = 'none' } = options;
  const { withWorkloads = !withManifests } = options;
  await using started = new AsyncDisposableStack();
  const { stateDir, plane } = await startSomewhere({ withControllerManager, auditPolicy, withWorkloads });
  started.defer(() => rmSync(stateDir, { recursive: true, force: true }));
  // What they have is thrown away: nobody waits until they have ended in order.
  started.defer(async () => {
    await Promise.all([plane.kill('kube-apiserver'), plane.kill('etcd')]);
    await plane.stop();
  });
  const clientOptions = { fieldManager: 'rollcall-test', userAgent: 'rollcall-test' };
  const admin = createKubeClient(plane.access, clientOptions);
  if (withManifests) {
    const manifests = [
      ...manifestsIn('crds'),
      ...manifestsIn('inventory'),
      ...manifestsIn('rbac'),
      ...manifestsIn('admission'),
      ...manifestsIn('admission', 'attribution'),
    ];
    // The API server makes kube-system by itself, a moment after it is ready.
    await onceServed(() => applyManifests(admin, manifests));
    await untilAttributed(admin);
  }
  const running = started.move();
  return {
    plane,
    admin,
    clientFor: (user, groups = []) => createKubeClient(plane.userAccess(user, groups), clientOptions),
    kubeconfigFor(user, groups = []) {
      const path = join(stateDir, `${user.replaceAll(/[^a-z0-9-]/g, '_')}.kubeconfig`);
      writeFileSync(path, kubeconfigYaml(plane.userAccess(user, groups)), { mode: 0o600 });
      return path;
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
