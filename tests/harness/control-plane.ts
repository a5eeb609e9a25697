import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import {
  apiVersionOf,
  applyManifests,
  createKubeClient,
  type KubeClient,
  kubeconfigYaml,
  type KubeObject,
  resources,
} from '@rollcall/shared/kubernetes';
import { type ControlPlane, startControlPlane } from '../../cli/up/control-plane/control-plane.ts';
import { applyHubKinds } from '../../cli/up/hub-manifests.ts';
import { untilAttributed } from './attribution.ts';
import { hasPool, leasePlane } from './planes/leased-plane.ts';

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
  started: AsyncDisposableStack,
): Promise<ControlPlane> {
  for (let start = 1; ; start++) {
    const stateDir = mkdtempSync(join(tmpdir(), 'rollcall-plane-'));
    started.defer(() => rmSync(stateDir, { recursive: true, force: true }));
    try {
      const plane = await startControlPlane({ stateDir, ...options });
      // What they have is thrown away: nobody waits until they have ended in order.
      started.defer(async () => {
        await Promise.all([plane.kill('kube-apiserver'), plane.kill('etcd')]);
        await plane.stop();
      });
      return plane;
    } catch (error) {
      const isPort = error instanceof RollcallError && error.message.includes('address already in use');
      if (!isPort || start === mostStarts) throw error;
    }
  }
}

/**
 * @param options.ownPlane - whether it is started for this test alone. Default: one of the pool where nothing else is wanted of it
 */
export async function startTestControlPlane(
  options: {
    withControllerManager?: boolean;
    withManifests?: boolean;
    auditPolicy?: 'none' | 'metadata';
    /** Default: as `rollcall up` has it on its own hub, and all kinds on a member. */
    withWorkloads?: boolean;
    ownPlane?: boolean;
  } = {},
): Promise<TestControlPlane> {
  const { withControllerManager = false, withManifests = true, auditPolicy = 'none', ownPlane } = options;
  const { withWorkloads = !withManifests } = options;
  await using started = new AsyncDisposableStack();
  const needsOwn = ownPlane ?? (auditPolicy !== 'none' || withWorkloads === withManifests);
  const isLent = hasPool() && !needsOwn && (withManifests || !withControllerManager);
  const stateDir = mkdtempSync(join(tmpdir(), 'rollcall-plane-'));
  started.defer(() => rmSync(stateDir, { recursive: true, force: true }));
  const plane = isLent
    ? started.use(await leasePlane(withManifests ? 'hub' : 'member', stateDir)).plane
    : await startSomewhere({ withControllerManager, auditPolicy, withWorkloads }, started);
  const clientOptions = { fieldManager: 'rollcall-test', userAgent: 'rollcall-test' };
  const admin = createKubeClient(plane.access, clientOptions);
  if (withManifests && !isLent) {
    await applyHubKinds(admin);
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
