import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  applyManifests,
  createKubeClient,
  type KubeClient,
  kubeconfigYaml,
} from '@rollcall/shared/kubernetes';
import { type ControlPlane, startControlPlane } from '../../cli/up/control-plane.ts';

/** A real etcd and kube-apiserver with our CRDs, roles and fence. */
export interface TestControlPlane extends AsyncDisposable {
  readonly plane: ControlPlane;
  readonly admin: KubeClient;
  clientFor(user: string, groups?: readonly string[]): KubeClient;
  /** A kubeconfig of that user, for a service's settings. */
  kubeconfigFor(user: string, groups?: readonly string[]): string;
}

const deployDirectory = join(import.meta.dirname, '..', '..', 'deploy');

function manifestsIn(...path: string[]): string[] {
  const directory = join(deployDirectory, ...path);
  return readdirSync(directory)
    .filter((file) => file.endsWith('.yaml'))
    .toSorted()
    .map((file) => readFileSync(join(directory, file), 'utf8'));
}

/** The user of a hub service, as RBAC and the fence know it. */
export function serviceUser(name: string): string {
  return `system:serviceaccount:rollcall-system:rollcall-${name}`;
}

export async function startTestControlPlane(
  options: {
    withControllerManager?: boolean;
    withManifests?: boolean;
    auditPolicy?: 'none' | 'metadata';
  } = {},
): Promise<TestControlPlane> {
  const { withControllerManager = false, withManifests = true, auditPolicy = 'none' } = options;
  const stateDir = mkdtempSync(join(tmpdir(), 'rollcall-plane-'));
  const plane = await startControlPlane({ stateDir, withControllerManager, auditPolicy });
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
