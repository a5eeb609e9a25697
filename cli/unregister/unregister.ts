import { randomUUID } from 'node:crypto';
import { RollcallError } from '@rollcall/shared/errors';
import {
  createKubeClient,
  isForbidden,
  type KubeClient,
  type KubeObject,
  resources,
  type StoredObject,
} from '@rollcall/shared/kubernetes';
import { annotations, type ManagedCluster, namespaces } from '@rollcall/shared/resources';
import { rollcallVersion } from '@rollcall/shared/service/version';
import { refuseChanged } from '../decide/refuse-changed.ts';
import { userName } from '../decide/user-name.ts';
import { timeoutFlagMs } from '../duration-flag.ts';
import { forgetMember, kubeconfigSecretOf, withdrawToken } from '../join/hub-objects.ts';
import { removeInstaller } from '../join/member-account.ts';
import { type HubFlags, openHub, sayHub } from '../hub-access.ts';
import { memberAccess, type MemberFlags } from '../member-access.ts';
import type { Outcome } from '../get/print-objects.ts';
import { say } from '../terminal/output.ts';
import { printable } from '../terminal/printable.ts';
import { withProgress } from '../terminal/progress.ts';
import { cleanMember } from './clean-member.ts';
import { checkIsMemberOf } from './member-of-cluster.ts';
import { actedOrHeld } from '../operations/acted-or-held.ts';
import { untilGone } from './until-gone.ts';

export interface UnregisterFlags extends HubFlags, MemberFlags {
  readonly force?: boolean;
  readonly wait?: boolean;
  readonly timeout: string;
  readonly dryRun?: boolean;
}

type Cluster = StoredObject<ManagedCluster>;
type Namespace = KubeObject<never, { readonly phase?: string }>;

/** Only where it is named: a hub's operator need not have the member at hand, and kubectl's own default may be any cluster. */
async function openMember(flags: UnregisterFlags): Promise<KubeClient | undefined> {
  const named = [flags.memberKubeconfig, flags.memberContext, flags.clusterKubeconfig, flags.clusterContext];
  if (named.every((flag) => flag === undefined)) return undefined;
  const options = { fieldManager: 'rollcall-cli', userAgent: `rollcall/${rollcallVersion}` };
  return createKubeClient(await memberAccess(flags), options);
}

const whatBecomesOf = {
  Delete: 'is deleted with everything in it',
  Keep: 'stays',
  DeleteWhenEmpty: 'is deleted if nothing is in it',
} as const;

function sayPlan({ metadata, spec, status }: Cluster): void {
  say(`cluster: "${metadata.name}" (${spec.clusterId ?? 'not claimed yet'})`);
  say(
    'its connection, its credentials and its access to the hub are taken away for good, and its agent is told',
  );
  if (status?.namespace !== undefined) {
    say(
      `namespace "${status.namespace}" on the hub ${whatBecomesOf[spec.namespacePolicy]} (${spec.namespacePolicy})`,
    );
  }
}

/** A delete carries no name, so the name comes first; force is an operation of its own, which the API server checks. */
async function signOperation(
  client: KubeClient,
  { metadata }: Cluster,
  flags: UnregisterFlags,
): Promise<void> {
  const by = await userName(client);
  const operation = {
    id: `leave-${randomUUID()}`,
    verb: 'ForceDelete',
    reason: 'rollcall unregister --force',
    by,
  };
  const patch = {
    metadata: { annotations: { [annotations.leaveRequestedBy]: by } },
    ...(flags.force ? { spec: { operation } } : {}),
  };
  let stored: Cluster;
  try {
    const how = { dryRun: flags.dryRun ?? false, strict: true };
    stored = await client.mergePatch<Cluster>(resources.managedClusters, metadata.name, patch, how);
  } catch (cause) {
    if (!isForbidden(cause)) throw cause;
    if (flags.force) throw new RollcallError('OPERATION_FORBIDDEN', cause.message, { cause });
    say('you may not change the cluster, so its history will not say that it was you');
    return;
  }
  if (flags.force) refuseChanged({ id: operation.id, verb: operation.verb }, stored.spec.operation);
}

function whatRemains({ status }: Cluster): string {
  const deleting = status?.conditions?.find(({ type }) => type === 'Deleting');
  return deleting?.status === 'True' ? printable(`${deleting.reason}: ${deleting.message}`) : '';
}

/** What Kubernetes still does after the hub is done; only said, unless somebody wants to wait for it. */
async function followNamespace(
  client: KubeClient,
  { status, spec }: Cluster,
  how: { wait: boolean; timeoutMs: number },
): Promise<void> {
  const name = status?.namespace;
  if (name === undefined) return;
  try {
    const namespace = await client.get<Namespace>(resources.namespaces, { name });
    if (!namespace) return;
    if (namespace.metadata.deletionTimestamp === undefined) {
      say(`[namespace] "${name}" stays (${spec.namespacePolicy})`);
      return;
    }
    say(`[namespace] Kubernetes is emptying "${name}"`);
    if (!how.wait) return;
    await untilGone<Namespace>(client, {
      resource: resources.namespaces,
      object: namespace,
      timeoutMs: how.timeoutMs,
      remaining: () => '',
      tell: () => undefined,
    });
    say(`[namespace] "${name}" is gone`);
  } catch (error) {
    if (!isForbidden(error)) throw error;
    say(`[namespace] you may not look at "${name}"`);
  }
}

async function leave(client: KubeClient, cluster: Cluster, flags: UnregisterFlags): Promise<void> {
  const timeoutMs = timeoutFlagMs(flags.timeout);
  const { name, uid } = cluster.metadata;
  await client.delete(resources.managedClusters, name, { preconditions: { uid } });
  say('[leave] the hub was told');
  const on = { clusterId: cluster.spec.clusterId ?? '', type: 'leaving', timeoutMs } as const;
  await actedOrHeld(client, on, (signal) =>
    untilGone<ManagedCluster>(client, {
      resource: resources.managedClusters,
      object: cluster,
      timeoutMs,
      remaining: whatRemains,
      tell: (remaining) => say(`[leave] ${remaining}`),
      signal,
    }),
  );
  await followNamespace(client, cluster, { wait: flags.wait ?? false, timeoutMs });
}

/** Does away with what `rollcall join` made for the cluster, which is good for nothing any more; what somebody else made is theirs. */
async function forgetJoin(
  { metadata, spec }: Cluster,
  forget: (name: string) => Promise<void>,
  what: string,
): Promise<void> {
  if (spec.kubeconfigSecret !== kubeconfigSecretOf(metadata.name)) return;
  try {
    await forget(metadata.name);
  } catch (error) {
    if (!isForbidden(error)) throw error;
    say(`you may not delete ${what}`);
  }
}

/**
 * Unregisters a cluster: the hub takes everything of it away, and its agent removes itself. With a kubeconfig of the member it
 * is cleaned from here, whether its agent runs or not.
 * @throws RollcallError NOT_FOUND; MEMBER_OTHER, before anything is changed; OPERATION_FORBIDDEN, DECISION_CHANGED; BULK_HELD; DEADLINE_EXCEEDED with what
 * remains; KubeApiError
 */
export async function unregister(name: string, flags: UnregisterFlags): Promise<Outcome> {
  const client = openHub(flags);
  let member: KubeClient | undefined;
  try {
    sayHub(client);
    const reading = client.get<ManagedCluster>(resources.managedClusters, { name });
    const cluster = await withProgress('reading the cluster', reading);
    if (!cluster) throw new RollcallError('NOT_FOUND', `no cluster has the name "${name}"`);
    member = await openMember(flags);
    if (member) {
      const { server, contextName, userName: user } = member.access;
      say(`member: ${server} (context "${contextName}", user "${user}")`);
      await withProgress('looking at the member', checkIsMemberOf(member, cluster));
    }
    sayPlan(cluster);
    await signOperation(client, cluster, flags);
    if (flags.dryRun) {
      const { uid } = cluster.metadata;
      await client.delete(resources.managedClusters, name, { dryRun: true, preconditions: { uid } });
      if (member) await cleanMember(member, { dryRun: true });
      return { words: 'you may do this (dry run; nothing was changed)', isNothingDone: true };
    }
    // First: an agent that the hub is just installing would come with it once the cluster is gone.
    await forgetJoin(
      cluster,
      (joined) => withdrawToken(client, joined),
      'the token of its join; it ends within 24 hours',
    );
    await leave(client, cluster, flags);
    if (member) {
      await cleanMember(member, { dryRun: false });
      // Of a join that nobody waited for to the end.
      await removeInstaller(member);
    }
    const secret = `the Secret ${namespaces.kubeconfigs}/${cluster.spec.kubeconfigSecret}; it is not needed any more`;
    await forgetJoin(cluster, (joined) => forgetMember(client, joined), secret);
    return { words: `cluster "${name}" has left the hub` };
  } finally {
    member?.close();
    client.close();
  }
}
