import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { basename, join } from 'node:path';
import {
  createKubeClient,
  type KubeAccess,
  kubeconfigYaml,
  type KubeClient,
  resources,
} from '@rollcall/shared/kubernetes';
import { findBinary } from '../binaries.ts';
import { type ChildHandle, startChild } from '../process/child-process.ts';
import { reapStale } from '../process/child-process-stale.ts';
import {
  apiServerFlags,
  controllerManagerFlags,
  type EtcdEndpoint,
  etcdFlags,
  writesAuditPolicy,
} from './control-plane-flags.ts';
import { writePrivate } from '../private-files.ts';
import { prepareKeys } from './control-plane-keys.ts';
import { loopbackPorts } from '../loopback-ports.ts';

type ServerName = 'etcd' | 'kube-apiserver' | 'kube-controller-manager';
type PortName = 'etcd' | 'etcd-peer' | 'kube-apiserver';

export type AuditPolicy = 'none' | 'metadata' | 'requests';

export interface ControlPlaneOptions {
  /** Keys, ports, data and logs; 0700. A second start goes on from what is there. */
  stateDir: string;
  /** Needed for namespaces to go away after their deletion; 200 MB of memory. */
  withControllerManager: boolean;
  /** Whether it has the kinds of what runs on nodes (Deployments, Jobs, volumes). Default: true. */
  withWorkloads?: boolean;
  /** `metadata`: every write is a line in `auditLogPath`; `requests`: with what was sent. Default `none`. */
  auditPolicy?: AuditPolicy;
  /** Fixed ports, instead of free ones that are drawn once. */
  ports?: Partial<Record<PortName, number>>;
  /** Keep the data in the etcd of another control plane, which must outlive this one. */
  sharedEtcd?: { endpoint: EtcdEndpoint; prefix: string };
  /** The cluster's name in kubeconfigs. Default: that of the state directory. */
  clusterName?: string;
  /** Called when a server ends that nobody stopped; its handle has the last log lines. */
  onUnexpectedExit?: (child: ChildHandle, how: string) => void;
}

export interface ControlPlane extends AsyncDisposable {
  /** Of the administrator (`system:masters`). */
  readonly access: KubeAccess;
  /** The same for kubectl; 0600. */
  readonly adminKubeconfigPath: string;
  /** Access of any other user, by a client certificate of its own. */
  userAccess(name: string, groups?: readonly string[]): KubeAccess;
  readonly clusterCaPem: string;
  readonly serviceAccountIssuer: string;
  readonly auditLogPath: string | undefined;
  readonly etcdEndpoint: EtcdEndpoint;
  /** Of the servers that run now. */
  pids(): Partial<Record<ServerName, number>>;
  /** SIGKILL, as a crash. */
  kill(name: ServerName): Promise<void>;
  /** Starts a server again that was killed (or stops it before), with the same data, and waits until it is ready. */
  restart(name: ServerName): Promise<void>;
  /** In order: what writes first, what keeps last. */
  stop(): Promise<void>;
}

/** A cold API server takes 3 s on two free cores; a machine that builds at the same time takes many times that. */
const readyWithinMs = 120_000;
const userAgent = 'rollcall-up';

/**
 * Starts etcd, kube-apiserver and, if wanted, kube-controller-manager on loopback ports.
 * @throws RollcallError `PORT_BUSY`, `CHILD_FAILED`, `BINARY_MISSING`, `STATE_INVALID`; nothing is left running then
 */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { stateDir, withControllerManager, sharedEtcd, clusterName = basename(stateDir) } = options;
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  await reapStale(stateDir);
  const keys = prepareKeys(join(stateDir, 'pki'));
  const ownPorts: readonly PortName[] = sharedEtcd
    ? ['kube-apiserver']
    : ['etcd', 'etcd-peer', 'kube-apiserver'];
  const ports = await loopbackPorts<PortName>(join(stateDir, 'ports.json'), ownPorts, options.ports);
  const server = `https://127.0.0.1:${ports['kube-apiserver']}`;
  const etcdEndpoint = sharedEtcd?.endpoint ?? {
    url: `https://127.0.0.1:${ports.etcd}`,
    caPath: keys.etcdCaPath,
    client: keys.etcdClient,
  };

  const userAccess = (name: string, groups: readonly string[] = []): KubeAccess => {
    const { certificatePem: certPem, privateKeyPem: keyPem } = keys.userCertificate(name, groups);
    const names = { clusterName, contextName: clusterName, userName: name, namespace: 'default' };
    return { server, caPem: keys.ca.certificatePem, certPem, keyPem, ...names };
  };
  const access = userAccess('rollcall-admin', ['system:masters']);
  const adminKubeconfigPath = join(stateDir, 'kubeconfig');
  writePrivate(adminKubeconfigPath, kubeconfigYaml(access));
  const controllerKubeconfigPath = join(stateDir, 'pki', 'controller-manager.kubeconfig');
  const controllerAccess = userAccess('system:kube-controller-manager');
  writePrivate(controllerKubeconfigPath, kubeconfigYaml(controllerAccess));
  const { auditPolicy = 'none' } = options;
  const audit = auditPolicy === 'none' ? undefined : prepareAudit(stateDir, auditPolicy);

  const probe = createKubeClient(access, { fieldManager: userAgent, userAgent, timeoutMs: 2_000 });
  const flags: Record<ServerName, () => string[]> = {
    etcd: () =>
      etcdFlags({
        dataDir: join(stateDir, 'etcd'),
        clientPort: ports.etcd,
        peerPort: ports['etcd-peer'],
        keys,
      }),
    'kube-apiserver': () =>
      apiServerFlags({
        port: ports['kube-apiserver'],
        keys,
        etcd: etcdEndpoint,
        etcdPrefix: sharedEtcd?.prefix ?? '/registry',
        serviceAccountIssuer: server,
        audit,
        withWorkloads: options.withWorkloads ?? true,
      }),
    'kube-controller-manager': () => controllerManagerFlags(controllerKubeconfigPath),
  };
  const isReady: Record<ServerName, () => Promise<boolean>> = {
    // Whether it answers is the API server's question, which starts at the same time.
    etcd: () => isListening(ports.etcd),
    'kube-apiserver': () => apiServerIsReady(probe),
    // It serves nothing, and nobody waits for it; `onUnexpectedExit` hears when it gives up.
    'kube-controller-manager': async () => true,
  };

  const running = new Map<ServerName, ChildHandle>();
  async function start(name: ServerName, signal?: AbortSignal): Promise<void> {
    const child = await startChild({
      name,
      command: findBinary(name),
      args: flags[name](),
      stateDir,
      logPath: join(stateDir, 'logs', `${name}.log`),
      isReady: isReady[name],
      readyWithinMs,
      signal,
    });
    running.set(name, child);
    void watchOver(name, child);
  }
  async function watchOver(name: ServerName, child: ChildHandle): Promise<void> {
    const how = await child.whenExited;
    if (running.get(name) !== child) return;
    running.delete(name);
    options.onUnexpectedExit?.(child, how);
  }
  /** Started together: the API server waits for etcd by itself. If one fails, the other is not waited for. */
  async function startTogether(names: readonly ServerName[]): Promise<void> {
    const failure = new AbortController();
    const started = names.map((name) => start(name, failure.signal).catch((error) => failure.abort(error)));
    await Promise.all(started);
    failure.signal.throwIfAborted();
  }
  async function end(name: ServerName, how: 'stop' | 'kill'): Promise<void> {
    const child = running.get(name);
    running.delete(name);
    await child?.[how]();
  }
  async function stop(): Promise<void> {
    probe.close();
    // What writes ends first, so that nothing logs that it lost the server behind it.
    for (const name of ['kube-controller-manager', 'kube-apiserver', 'etcd'] as const)
      await end(name, 'stop');
  }

  try {
    await startTogether(sharedEtcd === undefined ? ['etcd', 'kube-apiserver'] : ['kube-apiserver']);
    if (withControllerManager) await start('kube-controller-manager');
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    access,
    adminKubeconfigPath,
    userAccess,
    clusterCaPem: keys.ca.certificatePem,
    serviceAccountIssuer: server,
    auditLogPath: audit?.logPath,
    etcdEndpoint,
    pids: () => Object.fromEntries([...running].map(([name, child]) => [name, child.pid])),
    kill: (name) => end(name, 'kill'),
    restart: async (name) => {
      await end(name, 'stop');
      await start(name);
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Ready, and past making the namespaces that it makes itself a moment after: the cluster's id is the UID of one. */
async function apiServerIsReady(probe: KubeClient): Promise<boolean> {
  const { status } = await probe.raw('/readyz');
  if (status !== 200) return false;
  const namespaces = ['kube-system', 'default'].map((name) => probe.get(resources.namespaces, { name }));
  return (await Promise.all(namespaces)).every((namespace) => namespace !== undefined);
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1' });
  try {
    await once(socket, 'connect');
    return true;
  } finally {
    socket.destroy();
  }
}

function prepareAudit(
  stateDir: string,
  policy: 'metadata' | 'requests',
): { policyPath: string; logPath: string } {
  const policyPath = join(stateDir, 'audit-policy.yaml');
  const level = policy === 'requests' ? 'Request' : 'Metadata';
  writePrivate(policyPath, writesAuditPolicy(level));
  return { policyPath, logPath: join(stateDir, 'logs', 'audit.log') };
}
