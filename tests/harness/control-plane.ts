import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError } from '@rollcall/shared/errors';
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
import { type ControlPlane, startControlPlane } from '../../cli/up/control-plane.ts';
import { manifestsIn } from '../../cli/up/hub-manifests.ts';

/** A real etcd and kube-apiserver with our CRDs, roles and fence. */
export interface TestControlPlane extends AsyncDisposable {
  readonly plane: ControlPlane;
  readonly admin: KubeClient;
  clientFor(user: string, groups?: readonly string[]): KubeClient;
  /** A kubeconfig of that user, for a service's settings. */
  kubeconfigFor(user: string, groups?: readonly string[]): string;
}

/** The user of a hub service, as RBAC and the fence know it. */
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
      const isPort = error instanceof RollcallError && error.message.includes('address already in use');
      if (!isPort || start === mostStarts) throw error;
    }
  }
}

/** Kinds that the stamp is about: for seconds after a start the API server refuses them as kinds that it does not know. */
const stampedObjects: readonly {
  resource: Resource;
  kind: string;
  namespace?: string;
  spec: object;
}[] = [
  { resource: resources.managedClusters, kind: 'ManagedCluster', spec: {} },
  { resource: resources.managedClusterSets, kind: 'ManagedClusterSet', spec: {} },
  { resource: resources.approvalPolicies, kind: 'ApprovalPolicy', spec: { rules: [] } },
  {
    resource: resources.clusterRegistrationTokens,
    kind: 'ClusterRegistrationToken',
    namespace: 'rollcall-join',
    spec: {},
  },
];

async function untilStampKnowsKinds(admin: KubeClient): Promise<void> {
  for (const { resource, kind, namespace, spec } of stampedObjects) {
    const object = {
      apiVersion: 'rollcall.dev/v1alpha1',
      kind,
      metadata: { name: 'probe' },
      spec,
    };
    const isKnown = () =>
      admin
        .create(resource, object, { dryRun: true, ...(namespace === undefined ? {} : { namespace }) })
        .then(
          () => true,
          // Any other refusal is one of somebody who knows the kind.
          (error: unknown) => !(error instanceof Error && error.message.includes('There can be a delay')),
        );
    while (!(await isKnown())) await delay(100);
  }
}

export async function startTestControlPlane(
  options: {
    withControllerManager?: boolean;
    withManifests?: boolean;
    auditPolicy?: 'none' | 'metadata';
  } = {},
): Promise<TestControlPlane> {
  const { withControllerManager = false, withManifests = true, auditPolicy = 'none' } = options;
  const { stateDir, plane } = await startSomewhere({ withControllerManager, auditPolicy });
  const clientOptions = { fieldManager: 'rollcall-test', userAgent: 'rollcall-test' };
  const admin = createKubeClient(plane.access, clientOptions);
  if (withManifests) {
    const manifests = [
      ...manifestsIn('crds'),
      ...manifestsIn('rbac'),
      ...manifestsIn('fence'),
      ...manifestsIn('fence', 'stamp'),
    ];
    await applyManifests(admin, manifests);
    await untilStampKnowsKinds(admin);
  }
  return {
    plane,
    admin,
    clientFor: (user, groups = []) => createKubeClient(plane.userAccess(user, groups), clientOptions),
    kubeconfigFor(user, groups = []) {
      const path = join(stateDir, `${user.replaceAll(/[^a-z0-9-]/g, '_')}.kubeconfig`);
      writeFileSync(path, kubeconfigYaml(plane.userAccess(user, groups)), { mode: 0o600 });
      return path;
    },
    async [Symbol.asyncDispose]() {
      await plane.stop();
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}
