import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeAccess } from '@rollcall/shared/kubernetes';
import { startControlPlane } from '../cli/up/control-plane.ts';
import { startEmbeddedHub } from '../cli/up/embedded-hub.ts';

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
  readonly auditLogPath: string;
  readonly member: KubeAccess;
  /** By the names that the report shows. */
  readonly pids: Readonly<Record<string, number>>;
}

/**
 * The hub as `rollcall up` runs it: NATS, etcd, kube-apiserver and kube-controller-manager as children and the six services in
 * this process, which does nothing else meanwhile. The members share a second API server on the hub's etcd.
 */
async function main(): Promise<void> {
  const baseDir = mkdtempSync(join(tmpdir(), 'rollcall-bench-'));
  const stateDir = join(baseDir, 'hub');
  // A Ctrl-C in the terminal goes to every process; the order of the end is the parent's.
  process.on('SIGINT', () => undefined);
  const parentIsGone = new Promise((resolve) => process.once('disconnect', resolve));
  try {
    await using hub = await startEmbeddedHub({ stateDir, port: 0, auditPolicy: 'metadata' });
    const { plane } = hub;
    await using memberPlane = await startControlPlane({
      stateDir: join(baseDir, 'member'),
      withControllerManager: false,
      sharedEtcd: { endpoint: plane.etcdEndpoint, prefix: '/member' },
      clusterName: 'bench-member',
    });
    const planePids = plane.pids();
    const report: HubReport = {
      baseDir,
      stateDir,
      hubId: hub.hub.hubId,
      epoch: hub.hub.epoch,
      addresses: hub.addresses,
      caPem: hub.hub.caPem,
      caCertHash: hub.hub.caCertHash,
      admin: plane.access,
      auditLogPath: plane.auditLogPath ?? '',
      member: memberPlane.access,
      pids: {
        'services (one process)': process.pid,
        'nats-server': hub.natsServer()?.pid ?? 0,
        'kube-apiserver': planePids['kube-apiserver'] ?? 0,
        etcd: planePids.etcd ?? 0,
        'kube-controller-manager': planePids['kube-controller-manager'] ?? 0,
        'member kube-apiserver': memberPlane.pids()['kube-apiserver'] ?? 0,
      },
    };
    process.send?.(report);
    await parentIsGone;
  } finally {
    rmSync(baseDir, { recursive: true, force: true });
  }
}

await main();
