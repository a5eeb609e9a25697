import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type KubeAccess, kubeconfigYaml } from '@rollcall/shared/kubernetes';
import type { ControlPlane } from '../../../cli/up/control-plane/control-plane.ts';
import { issueUserCertificate } from '../../../cli/up/control-plane/control-plane-keys.ts';
import { type PlaneKind, poolVariable } from './plane-kinds.ts';

export interface LeasedPlane extends AsyncDisposable {
  readonly plane: ControlPlane;
}

/** Whether this run has a pool: one that chooses its own projects may have none. */
export const hasPool = (): boolean => process.env[poolVariable] !== undefined;

/**
 * An API server of the pool, as clean as a new one, until it is given back: then everything in it goes.
 * @param stateDir - gets the kubeconfig, where that of a control plane of its own would lie
 * @throws Error where the pool could not start one
 */
export async function leasePlane(kind: PlaneKind, stateDir: string): Promise<LeasedPlane> {
  const socket = connect(process.env[poolVariable] ?? '');
  socket.write(`${kind}\n`);
  const [line] = (await once(createInterface(socket), 'line')) as [string];
  const lent = JSON.parse(line) as { stateDir: string; failed?: string };
  if (lent.failed !== undefined) throw new Error(lent.failed);
  // Whoever forgets it does not keep the process running, and gives it back by ending.
  socket.unref();
  return {
    plane: planeIn(lent.stateDir, kind === 'hub' ? 'rollcall-hub' : 'member', stateDir),
    async [Symbol.asyncDispose]() {
      socket.end();
      await once(socket, 'close');
    },
  };
}

function planeIn(lentDir: string, clusterName: string, stateDir: string): ControlPlane {
  const read = (...path: string[]): string => readFileSync(join(lentDir, ...path), 'utf8');
  const ca = { certificatePem: read('pki', 'ca.crt'), privateKeyPem: read('pki', 'ca.key') };
  const ports = JSON.parse(read('ports.json')) as Record<'etcd' | 'kube-apiserver', number>;
  const server = `https://127.0.0.1:${ports['kube-apiserver']}`;
  const userAccess = (name: string, groups: readonly string[] = []): KubeAccess => {
    const { certificatePem: certPem, privateKeyPem: keyPem } = issueUserCertificate(ca, name, groups);
    const names = { clusterName, contextName: clusterName, userName: name, namespace: 'default' };
    return { server, caPem: ca.certificatePem, certPem, keyPem, ...names };
  };
  const access = userAccess('rollcall-admin', ['system:masters']);
  const adminKubeconfigPath = join(stateDir, 'kubeconfig');
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  writeFileSync(adminKubeconfigPath, kubeconfigYaml(access), { mode: 0o600 });
  const pidOf = (name: string): number => (JSON.parse(read('run', `${name}.json`)) as { pid: number }).pid;
  const notOurs = async (): Promise<never> => {
    throw new Error('this API server is lent: a test that stops one has one of its own (`ownPlane`)');
  };
  return {
    access,
    adminKubeconfigPath,
    userAccess,
    clusterCaPem: ca.certificatePem,
    serviceAccountIssuer: server,
    auditLogPath: undefined,
    etcdEndpoint: {
      url: `https://127.0.0.1:${ports.etcd}`,
      caPath: join(lentDir, 'pki', 'etcd-ca.crt'),
      client: {
        certPath: join(lentDir, 'pki', 'etcd-client.crt'),
        keyPath: join(lentDir, 'pki', 'etcd-client.key'),
      },
    },
    pids: () => ({ etcd: pidOf('etcd'), 'kube-apiserver': pidOf('kube-apiserver') }),
    kill: notOurs,
    restart: notOurs,
    // Not here: a hub that starts again in its directory finds what it had.
    stop: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
}
