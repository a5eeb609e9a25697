import { readClusterId, secretKeyStore } from '@rollcall/agent';
import { RollcallError } from '@rollcall/shared/errors';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import type { ManagedCluster } from '@rollcall/shared/resources';
import { keyFingerprint, nkeyFromSeed } from '@rollcall/shared/trust/keys';

export const agentNamespace = 'rollcall-agent';

/** Which cluster the agent that is installed there is of; undefined where none has keys. */
async function installedAgent(
  member: KubeClient,
): Promise<{ clusterId: string; fingerprint: string } | undefined> {
  const state = await secretKeyStore(member, { namespace: agentNamespace }).load();
  if (!state) return undefined;
  return { clusterId: state.clusterId, fingerprint: keyFingerprint(nkeyFromSeed(state.seed).publicKey) };
}

async function uidOf(member: KubeClient): Promise<string> {
  return readClusterId({ get: (path) => member.raw(path) }, undefined);
}

/**
 * Whether this member is the cluster that shall be unregistered, and the agent in it that of this hub: cleaning the wrong one
 * would put another cluster out.
 * @throws RollcallError MEMBER_OTHER, before anything is changed
 */
export async function checkIsMemberOf(
  member: KubeClient,
  { metadata, spec, status }: Pick<ManagedCluster, 'metadata' | 'spec' | 'status'>,
): Promise<void> {
  const agent = await installedAgent(member);
  const clusterId = agent?.clusterId ?? (await uidOf(member));
  if (clusterId !== spec.clusterId) {
    const message = `the member ${member.access.server} is cluster "${clusterId}", and "${metadata.name}" is "${spec.clusterId ?? 'not claimed yet'}"`;
    throw new RollcallError('MEMBER_OTHER', message);
  }
  const known = status?.keyFingerprint;
  if (agent && known !== undefined && known !== agent.fingerprint) {
    const message = `the agent in the member ${member.access.server} has the key ${agent.fingerprint}, and the hub knows ${known}: it may be that of another hub`;
    throw new RollcallError('MEMBER_OTHER', message);
  }
}
