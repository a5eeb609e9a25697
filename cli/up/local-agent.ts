import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  directoryHubAccess,
  directoryKeyStore,
  directoryRotationRequest,
  forgetDirectory,
  type OnPhase,
  parseMemberAccess,
  runAgent,
  type RunningAgent,
} from '@rollcall/agent';
import { openEventLog } from '@rollcall/shared/bus';
import { tokenRecord } from '@rollcall/shared/events';
import { applyManifests, resources } from '@rollcall/shared/kubernetes';
import { rollcallVersion } from '@rollcall/shared/service';
import { createRegistrationToken, tokenIdOf } from '@rollcall/shared/trust';
import type { EmbeddedHub } from './embedded-hub.ts';
import { agentAccountManifests, manifestsIn } from './hub-manifests.ts';
import { connectAsInspector } from './state/people-connection.ts';

const agentUser = 'system:serviceaccount:rollcall-agent:rollcall-agent';
const agentGroups = ['system:serviceaccounts', 'system:serviceaccounts:rollcall-agent'];
/** Who administers the hub may look into its own cluster by way of the hub as well (deploy/local-agent/). */
const localPeople = ['user:rollcall-admin', 'group:system:masters=rollcall:admins'];
const declaredWithinMs = 10_000;

/** Makes a token for one cluster as a person would, and waits until the hub knows it. */
async function createLocalToken(hub: EmbeddedHub, clusterName: string): Promise<string> {
  const token = createRegistrationToken(hub.hub.hubId);
  const { publicKey } = token.key;
  await hub.admin.create(
    resources.clusterRegistrationTokens,
    {
      apiVersion: 'rollcall.dev/v1alpha1',
      kind: 'ClusterRegistrationToken',
      metadata: { generateName: `${clusterName}-`, namespace: 'rollcall-join' },
      spec: {
        publicKey,
        uses: 1,
        ttl: '1h',
        clusterName,
        description: 'made by rollcall up for its own cluster',
      },
    },
    { namespace: 'rollcall-join' },
  );
  const nc = await connectAsInspector(hub.stateDir, hub.natsAddress);
  try {
    const log = await openEventLog(nc, { epoch: hub.hub.epoch, source: '/rollcall/up' });
    for (
      const deadlineMs = performance.now() + declaredWithinMs;
      performance.now() < deadlineMs;
      await delay(20)
    ) {
      const record = tokenRecord(await log.read({ kind: 'token', id: tokenIdOf(publicKey) }));
      if (record.declaration) break;
    }
  } finally {
    await nc.close();
  }
  return token.text;
}

/**
 * Registers the hub's own cluster (all-in-one), by an agent with its own ServiceAccount and bus identity and nothing else.
 * Its keys are kept, so that a second `up` finds it known.
 */
export async function startLocalAgent(
  hub: EmbeddedHub,
  options: { clusterName: string; onPhase?: OnPhase },
): Promise<RunningAgent> {
  const directory = join(hub.stateDir, 'agent');
  const store = directoryKeyStore(directory);
  const known = await store.load();
  const isKnown = known?.member !== undefined;
  const system = await hub.admin.get(resources.namespaces, { name: 'kube-system' });
  // Kubernetes may have lost all it had, or be another one after a restore; the cluster that is registered is this one still.
  const isOtherUid = known !== undefined && known.clusterId !== system?.metadata.uid;
  // Its Deployment and bootstrap Secret are for pods; here the agent runs in this process.
  await applyManifests(hub.admin, [...agentAccountManifests(), ...manifestsIn('local-agent')]);
  return runAgent({
    hub: hub.natsAddress.servers,
    trust: { caPem: hub.hub.caPem },
    token: isKnown ? undefined : await createLocalToken(hub, options.clusterName),
    member: hub.plane.userAccess(agentUser, agentGroups),
    store,
    // Whoever unregistered it has it again, with new keys, at the next `up`.
    uninstall: forgetDirectory(directory),
    hubAccess: directoryHubAccess(directory),
    rotationRequest: directoryRotationRequest(directory),
    clusterName: options.clusterName,
    memberAccess: parseMemberAccess(localPeople),
    ...(isOtherUid ? { clientId: known.clusterId } : {}),
    version: rollcallVersion,
    ...(options.onPhase ? { onPhase: options.onPhase } : {}),
  });
}
