import { randomUUID } from 'node:crypto';
import { RollcallError } from '@rollcall/shared/errors';
import { isForbidden, type KubeClient, resources, type StoredObject } from '@rollcall/shared/kubernetes';
import type { ClusterRegistrationRequest, ManagedCluster } from '@rollcall/shared/resources';
import { timeoutFlagMs } from '../duration-flag.ts';
import type { DoneFormat, Outcome } from '../get/print-objects.ts';
import { type HubFlags, openHub, sayHub } from '../hub-access.ts';
import { say } from '../terminal/output.ts';
import { printable } from '../terminal/printable.ts';
import { withProgress } from '../terminal/progress.ts';
import { waitForObject } from '../wait-for-object.ts';
import { actedOrHeld } from '../operations/acted-or-held.ts';
import { refuseChanged } from './refuse-changed.ts';
import { userName } from './user-name.ts';

export interface OperationFlags extends HubFlags {
  readonly reason?: string;
  readonly timeout: string;
  readonly dryRun?: boolean;
  readonly output: DoneFormat;
}

type Cluster = StoredObject<ManagedCluster & { metadata: object }>;
type Accepted = { readonly status: string; readonly reason: string; readonly message: string };

/** What each verb asks for, how the hub shows that it is so, and how people say it. */
const verbs = {
  revoke: {
    verb: 'Revoke',
    type: 'revoked',
    isDone: ({ status }: Accepted) => status === 'False',
    done: 'revoked',
  },
  ban: {
    verb: 'Ban',
    type: 'banned',
    isDone: ({ reason }: Accepted) => reason === 'PersonBanned',
    done: 'banned',
  },
  unban: {
    verb: 'Unban',
    isDone: ({ reason }: Accepted) => reason !== 'PersonBanned',
    done: 'not banned any more',
  },
} as const;
export type OperationVerb = keyof typeof verbs;

const unknown: Accepted = { status: 'Unknown', reason: '', message: '' };
const acceptedOf = ({ status }: Pick<ManagedCluster, 'status'>): Accepted =>
  status?.conditions?.find(({ type }) => type === 'Accepted') ?? unknown;
const wordsOf = ({ reason, message }: Accepted): string =>
  printable([reason, message].filter((text) => text !== '').join(', '));

/** The key that is in; of a cluster that nobody let in, the one that asks. */
async function keyOf(
  client: Pick<KubeClient, 'get'>,
  { spec, status }: Cluster,
): Promise<string | undefined> {
  if (status?.keyFingerprint !== undefined || spec.clusterId === undefined) return status?.keyFingerprint;
  const request = await client.get<ClusterRegistrationRequest & { metadata: object }>(
    resources.clusterRegistrationRequests,
    { name: spec.clusterId },
  );
  return request?.spec.keyFingerprint;
}

/**
 * The key that an operation is about. Only a ban can be taken back without one: of a cluster, a restored hub may know nothing else.
 * @throws RollcallError USAGE: there is none, and the operation must name it; KubeApiError
 */
export async function keyFor(
  client: Pick<KubeClient, 'get'>,
  verb: OperationVerb,
  { name, cluster }: { name: string; cluster: Cluster },
): Promise<string | undefined> {
  const key = await keyOf(client, cluster);
  if (key !== undefined || verb === 'unban') return key;
  throw new RollcallError(
    'USAGE',
    `no agent has asked as cluster "${name}" yet, so there is no key to ${verb}`,
  );
}

/**
 * Whether the hub shows that it is so.
 * @throws RollcallError USAGE: nobody is in whose key could be revoked
 */
export function isDoneAlready(
  verb: OperationVerb,
  { name, cluster }: { name: string; cluster: Cluster },
): boolean {
  // One that waits is not accepted either, and may be let in at any time.
  if (verb === 'revoke' && cluster.status?.keyFingerprint === undefined)
    throw new RollcallError(
      'USAGE',
      `no key of cluster "${name}" is let in, so there is none to revoke; one that asks is denied: \`rollcall deny ${name}\``,
    );
  return verbs[verb].isDone(acceptedOf(cluster));
}

export interface Operation {
  readonly id: string;
  readonly verb: string;
  readonly keyFingerprint: string | undefined;
  readonly reason: string | null;
  readonly by: string | undefined;
}

/** @throws RollcallError OPERATION_FORBIDDEN, DECISION_CHANGED; KubeApiError */
export async function writeOperation(
  client: KubeClient,
  name: string,
  { operation, dryRun }: { operation: Operation; dryRun: boolean },
): Promise<void> {
  // What is left out would stay as the operation before it had it.
  const patch = { spec: { operation: { ...operation, keyFingerprint: operation.keyFingerprint ?? null } } };
  let stored: Cluster;
  try {
    const how = { dryRun, strict: true };
    stored = await client.mergePatch<Cluster>(resources.managedClusters, name, patch, how);
  } catch (cause) {
    if (!isForbidden(cause)) throw cause;
    throw new RollcallError('OPERATION_FORBIDDEN', cause.message, { cause });
  }
  const { id, verb, keyFingerprint } = operation;
  refuseChanged({ id, verb, keyFingerprint }, stored.spec.operation);
}

/**
 * Revokes the key of a cluster, bans the cluster or takes the ban back, as the person of the kubeconfig, and waits until the
 * hub has acted.
 * @throws RollcallError NOT_FOUND, USAGE, OPERATION_FORBIDDEN, DECISION_CHANGED, BULK_HELD, DEADLINE_EXCEEDED; KubeApiError
 */
export async function operationForCluster(
  verb: OperationVerb,
  name: string,
  flags: OperationFlags,
): Promise<Outcome> {
  const timeoutMs = timeoutFlagMs(flags.timeout);
  const { dryRun = false, reason = null } = flags;
  const { isDone, done } = verbs[verb];
  const resource = resources.managedClusters;
  const client = openHub(flags);
  try {
    sayHub(client);
    const reading = client.get<Cluster>(resource, { name });
    const cluster = await withProgress('reading the cluster', reading);
    if (!cluster) throw new RollcallError('NOT_FOUND', `no cluster has the name "${name}"`);
    const now = acceptedOf(cluster);
    if (isDoneAlready(verb, { name, cluster }))
      return { words: `cluster "${name}" is ${done} already: ${wordsOf(now)}`, object: cluster, resource };
    if (verb !== 'unban' && cluster.metadata.deletionTimestamp !== undefined)
      throw new RollcallError('USAGE', `cluster "${name}" is leaving; its keys are out for good`);
    const keyFingerprint = await keyFor(client, verb, { name, cluster });
    say(`cluster "${name}" (${cluster.spec.clusterId ?? ''}), key ${keyFingerprint ?? 'unknown'}`);
    const by = await userName(client);
    const operation = { id: `cli-${randomUUID()}`, verb: verbs[verb].verb, keyFingerprint, reason, by };
    await withProgress('writing the operation', writeOperation(client, name, { operation, dryRun }));
    if (dryRun) return { words: 'you may do this (dry run; nothing was changed)', isNothingDone: true };
    let seen = now;
    const untilDone = (signal?: AbortSignal) =>
      waitForObject<ManagedCluster & { metadata: object }>(
        client,
        { resource, name, timeoutMs, ...(signal ? { signal } : {}) },
        (object) => {
          seen = acceptedOf(object);
          return isDone(seen);
        },
      );
    const on = { clusterId: cluster.spec.clusterId ?? '', timeoutMs };
    // Whoever lets a cluster in again is never held.
    const acting =
      verb === 'unban' ? untilDone() : actedOrHeld(client, { ...on, type: verbs[verb].type }, untilDone);
    const acted = await withProgress('waiting for the hub to act on it', acting);
    if (!acted) {
      throw new RollcallError(
        'DEADLINE_EXCEEDED',
        `your operation is written, and the hub has not acted on it within ${timeoutMs / 1000} s (now: ${wordsOf(seen)}); \`rollcall get operations\` shows whether it is held`,
      );
    }
    const words = `cluster "${name}" is ${done}: ${wordsOf(acceptedOf(acted))}`;
    return { words, object: acted, resource };
  } finally {
    client.close();
  }
}
