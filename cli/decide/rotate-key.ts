import { randomUUID } from 'node:crypto';
import { RollcallError } from '@rollcall/shared/errors';
import { type KubeObject, resources } from '@rollcall/shared/kubernetes';
import type { ManagedCluster } from '@rollcall/shared/resources';
import { timeoutFlagMs } from '../duration-flag.ts';
import type { Outcome } from '../get/print-objects.ts';
import { openHub, sayHub } from '../hub-access.ts';
import { say } from '../terminal/output.ts';
import { withProgress } from '../terminal/progress.ts';
import { waitForObject } from '../wait-for-object.ts';
import { userName } from './user-name.ts';
import { type OperationFlags, writeOperation } from './cluster-operation.ts';

type Cluster = ManagedCluster & KubeObject;

/**
 * `rollcall rotate NAME`: asks the agent of a cluster, from the hub, to take a new key in the place of its own, and waits until
 * the hub has let that in. The agent does it by itself (ADR 10); one that is away hears of it when it is back.
 * @throws RollcallError NOT_FOUND, USAGE, OPERATION_FORBIDDEN, DECISION_CHANGED, DEADLINE_EXCEEDED (the operation stands); KubeApiError
 */
export async function rotateKey(name: string, flags: OperationFlags): Promise<Outcome> {
  const timeoutMs = timeoutFlagMs(flags.timeout);
  const { dryRun = false, reason = null } = flags;
  const client = openHub(flags);
  try {
    sayHub(client);
    const reading = client.get<Cluster>(resources.managedClusters, { name });
    const cluster = await withProgress('reading the cluster', reading);
    if (!cluster) throw new RollcallError('NOT_FOUND', `no cluster has the name "${name}"`);
    const keyFingerprint = cluster.status?.keyFingerprint;
    if (keyFingerprint === undefined)
      throw new RollcallError('USAGE', `no key of cluster "${name}" is let in, so there is none to rotate`);
    say(`cluster "${name}" (${cluster.spec.clusterId ?? ''}), key ${keyFingerprint}`);
    const by = await userName(client);
    const operation = { id: `rotate-${randomUUID()}`, verb: 'RotateKey', keyFingerprint, reason, by };
    await withProgress('writing the operation', writeOperation(client, name, { operation, dryRun }));
    if (dryRun) return { words: 'you may do this (dry run; nothing was changed)', isNothingDone: true };
    const isOther = ({ status }: Cluster) =>
      status?.keyFingerprint !== undefined && status.keyFingerprint !== keyFingerprint;
    const on = { resource: resources.managedClusters, name, timeoutMs };
    const waiting = waitForObject<Cluster>(client, on, isOther);
    const rotated = await withProgress('waiting until the agent has a new key', waiting);
    if (!rotated) {
      throw new RollcallError(
        'DEADLINE_EXCEEDED',
        `your operation is written, and the agent has no new key after ${timeoutMs / 1000} s; one that is away, or of an older version, hears of it later or never: \`rollcall events --cluster ${name}\``,
      );
    }
    const now = rotated.status?.keyFingerprint ?? '';
    const words = `the agent of cluster "${name}" has a new key: ${keyFingerprint} → ${now}; the former one is out as soon as it uses that`;
    return { words, object: rotated, resource: resources.managedClusters };
  } finally {
    client.close();
  }
}
