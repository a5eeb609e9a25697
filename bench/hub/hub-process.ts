import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeAccess } from '@rollcall/shared/kubernetes';
import type { ChildHandle } from '../../cli/up/process/child-process.ts';
import { startControlPlane } from '../../cli/up/control-plane/control-plane.ts';
import type { EtcdEndpoint } from '../../cli/up/control-plane/control-plane-flags.ts';
import { type EmbeddedHub, type EmbeddedHubOptions, startEmbeddedHub } from '../../cli/up/embedded-hub.ts';
import { serviceSettings } from '../../cli/up/hub-services.ts';
import { serveInProcess, startServiceProcesses, stopAll } from '../../tests/harness/service-process.ts';

/** What kind of hub the bench wants; the argument of this process, as JSON. */
export interface HubSettings {
  /** Whether there is an audit log of writes, and whether it keeps what was sent, too. */
  readonly audit: 'none' | 'metadata' | 'requests';
  readonly withMember: boolean;
  /** NATS servers; 1 by default. */
  readonly servers?: EmbeddedHubOptions['servers'];
  readonly withoutSync?: boolean;
  /** A compiled `rollcall` that runs the agent host in a process of its own; by default it runs with the other services. */
  readonly agentHostProgram?: string;
  /** Where a service shall differ from its defaults. */
  readonly settings?: EmbeddedHubOptions['settings'];
  /** Processes of each service; default: all services in this process. */
  readonly replicas?: number;
  /** Also somebody with no right but those that the bench gives. */
  readonly person?: string;
}

/** What the bench has to know of the hub that this process runs. */
export interface HubReport {
  readonly baseDir: string;
  readonly stateDir: string;
  readonly hubId: string;
  readonly epoch: number;
  readonly addresses: readonly string[];
  readonly caPem: string;
  readonly caCertHash: string;
  readonly admin: KubeAccess;
  readonly person: KubeAccess | undefined;
  readonly etcd: EtcdEndpoint;
  readonly auditLogPath: string;
  readonly member: KubeAccess | undefined;
  /** By the names that the report shows. */
  readonly pids: Readonly<Record<string, number>>;
}

/** There is one of it at a time, so the one in this process ends first. */
async function hostApart(hub: EmbeddedHub, program: string): Promise<ChildHandle> {
  const name = 'agent-host';
  await hub.services.find((service) => service.name === name)?.stop();
  const settings = serviceSettings(hub.serviceOptions)[name];
  return serveInProcess(name, { label: name, stateDir: hub.stateDir, settings, cliMain: program });
}

function pidsOf(children: ReadonlyMap<string, ChildHandle>): Record<string, number> {
  return Object.fromEntries([...children].map(([name, { pid }]) => [name, pid]));
}

/**
 * The hub as `rollcall up` runs it: NATS, etcd, kube-apiserver and kube-controller-manager as children and the seven services in
 * this process, which does nothing else meanwhile. Members, where wanted, share a second API server on the hub's etcd.
 */
async function main({
  audit,
  withMember,
  agentHostProgram,
  replicas,
  person,
  ...hubOptions
}: HubSettings): Promise<void> {
  const baseDir = mkdtempSync(join(tmpdir(), 'rollcall-bench-'));
  const stateDir = join(baseDir, 'hub');
  // A Ctrl-C in the terminal goes to every process; the order of the end is the parent's.
  process.on('SIGINT', () => undefined);
  const parentIsGone = new Promise((resolve) => process.once('disconnect', resolve));
  try {
    const withServices = replicas === undefined;
    const embedded = { stateDir, port: 0, auditPolicy: audit, withServices, ...hubOptions };
    await using hub = await startEmbeddedHub(embedded);
    // As `rollcall up` does before it says that it runs: what is written before is nobody's word.
    if (withServices) await hub.admissionInPlace();
    await using stack = new AsyncDisposableStack();
    const apart = replicas === undefined ? undefined : await startServiceProcesses(hub, replicas);
    if (apart) stack.defer(() => stopAll(apart.values()));
    const { plane } = hub;
    await using memberPlane = withMember
      ? await startControlPlane({
          stateDir: join(baseDir, 'member'),
          withControllerManager: false,
          sharedEtcd: { endpoint: plane.etcdEndpoint, prefix: '/member' },
          clusterName: 'bench-member',
        })
      : undefined;
    await using agentHost =
      agentHostProgram === undefined ? undefined : await hostApart(hub, agentHostProgram);
    const planePids = plane.pids();
    const memberPid = memberPlane?.pids()['kube-apiserver'];
    const report: HubReport = {
      baseDir,
      stateDir,
      hubId: hub.hub.hubId,
      epoch: hub.hub.epoch,
      addresses: hub.addresses,
      caPem: hub.hub.caPem,
      caCertHash: hub.hub.caCertHash,
      admin: plane.access,
      person: person === undefined ? undefined : plane.userAccess(person),
      etcd: plane.etcdEndpoint,
      auditLogPath: plane.auditLogPath ?? '',
      member: memberPlane?.access,
      pids: {
        ...(apart ? pidsOf(apart) : { 'services (one process)': process.pid }),
        'nats-server': hub.natsServer()?.pid ?? 0,
        'kube-apiserver': planePids['kube-apiserver'] ?? 0,
        etcd: planePids.etcd ?? 0,
        'kube-controller-manager': planePids['kube-controller-manager'] ?? 0,
        ...(memberPid === undefined ? {} : { 'member kube-apiserver': memberPid }),
        ...(agentHost === undefined ? {} : { 'agent-host': agentHost.pid }),
      },
    };
    // The only message there is: the services end, what they stand on goes on.
    process.once('message', () => {
      void Promise.all(hub.services.map((service) => service.stop())).then(() => process.send?.('stopped'));
    });
    process.send?.(report);
    await parentIsGone;
  } finally {
    rmSync(baseDir, { recursive: true, force: true });
  }
}

await main(JSON.parse(process.argv[2] ?? '') as HubSettings);
