import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startControlPlane } from '../../cli/up/control-plane/control-plane.ts';
import { applyManifests, createKubeClient, KubeApiError, resources } from '@rollcall/shared/kubernetes';
import type { KubeClient, KubeObject } from '@rollcall/shared/kubernetes';
import { bindRole } from '../harness/control-plane.ts';

const deploy = fileURLToPath(new URL('../../deploy/', import.meta.url));

/** A real API server with our kinds, roles and admission policies, and a client for every user that a test thinks of. */
export interface GuardedHub extends AsyncDisposable {
  admin: KubeClient;
  /** A person or service; RBAC gives it what `deploy/rbac` and `grant` say, and nothing else. */
  as(userName: string): KubeClient;
  /** One of our services, under the user name of its ServiceAccount. */
  service(name: string): KubeClient;
  /** With `withAudit`: every request, with who and how it was answered. */
  readonly auditLogPath: string | undefined;
  /** Gives a person a ClusterRole of ours, or rules of its own. */
  grant(userName: string, role: string | readonly Rule[]): Promise<void>;
}

interface Rule {
  apiGroups: readonly string[];
  resources: readonly string[];
  verbs: readonly string[];
  resourceNames?: readonly string[];
}

const clientOf = (access: KubeClient['access']): KubeClient =>
  createKubeClient(access, { fieldManager: 'test', userAgent: 'rollcall-test' });

export async function startGuardedHub({ withAudit = false } = {}): Promise<GuardedHub> {
  const stateDir = await mkdtemp(join(tmpdir(), 'rollcall-admission-'));
  const controlPlane = await startControlPlane({
    stateDir,
    withControllerManager: false,
    withWorkloads: false,
    auditPolicy: withAudit ? 'metadata' : 'none',
  });
  const clients = new Map<string, KubeClient>();
  const admin = clientOf(controlPlane.access);
  const as = (userName: string): KubeClient => {
    const client = clients.get(userName) ?? clientOf(controlPlane.userAccess(userName));
    clients.set(userName, client);
    return client;
  };
  const service = (name: string): KubeClient => as(`system:serviceaccount:rollcall-system:rollcall-${name}`);

  for (const folder of ['crds', 'inventory', 'rbac', 'admission', 'admission/attribution']) {
    await applyManifests(admin, await manifestsIn(join(deploy, folder)));
  }
  await admissionIsUp(admin, service('admission-probe'));
  return {
    admin,
    as,
    service,
    auditLogPath: controlPlane.auditLogPath,
    grant: (userName, role) => grant(admin, userName, role),
    async [Symbol.asyncDispose]() {
      for (const client of [admin, ...clients.values()]) client.close();
      await controlPlane.stop();
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}

async function manifestsIn(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.yaml')).toSorted();
  return Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
}

async function grant(admin: KubeClient, userName: string, role: string | readonly Rule[]): Promise<void> {
  if (typeof role === 'string') return bindRole(admin, userName, role);
  const name = `test-${userName}`;
  const made = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name },
    rules: role,
  };
  await applyManifests(admin, [made as KubeObject]);
  await bindRole(admin, userName, name);
}

/** The dry run of a decision by the probe: the admission policies are up when the answer names our policy. Nothing is kept. */
export async function probeDecision(probe: KubeClient): Promise<string> {
  const spec = {
    clusterId: 'admission-probe',
    clusterName: 'admission-probe',
    keyFingerprint: 'none',
    decision: { verdict: 'Approve', keyFingerprint: 'none', by: 'admission-probe' },
  };
  return outcomeOf(
    probe.create(resources.clusterRegistrationRequests, aRequest('admission-probe', spec), { dryRun: true }),
  );
}

/** Policies are in force some 100 ms after they were written; the ones that were applied last come last. */
async function admissionIsUp(admin: KubeClient, probe: KubeClient): Promise<void> {
  const operationOf = (operation: object): Promise<string> =>
    outcomeOf(
      admin.create(
        resources.managedClusters,
        aCluster('admission-probe', {
          operation: { id: '1', verb: 'Ban', keyFingerprint: 'K1', ...operation },
        }),
        {
          dryRun: true,
        },
      ),
    );
  for (;;) {
    const answers = [await probeDecision(probe), await operationOf({ at: 'now' }), await operationOf({})];
    const isUp =
      answers[0]?.includes('rollcall-accept') === true &&
      answers[1]?.includes('rollcall-operation') === true &&
      answers[2] === 'allowed';
    if (isUp) return;
    await delay(50);
  }
}

/** `allowed`, or what the API server said. */
export async function outcomeOf(write: Promise<unknown>): Promise<string> {
  try {
    await write;
    return 'allowed';
  } catch (error) {
    if (error instanceof KubeApiError) return error.message;
    throw error;
  }
}

export const aRequest = (clusterId: string, spec: object = {}): KubeObject => ({
  apiVersion: 'rollcall.dev/v1alpha1',
  kind: 'ClusterRegistrationRequest',
  metadata: { name: clusterId },
  spec: { clusterId, clusterName: `name-of-${clusterId}`, keyFingerprint: 'K1', ...spec },
});

export const aCluster = (
  name: string,
  spec: object = {},
  metadata: Partial<KubeObject['metadata']> = {},
): KubeObject => ({
  apiVersion: 'rollcall.dev/v1alpha1',
  kind: 'ManagedCluster',
  metadata: { name, ...metadata },
  spec,
});

/** As the projector makes it: the projection of a cluster that there is. */
export const aProjection = (
  name: string,
  spec: object = {},
  { labels, ...metadata }: Partial<KubeObject['metadata']> = {},
): KubeObject =>
  aCluster(name, spec, { ...metadata, labels: { 'rollcall.dev/cluster-id': name, ...labels } });
