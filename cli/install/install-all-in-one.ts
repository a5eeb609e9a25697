import { randomBytes } from 'node:crypto';
import { RollcallError } from '@rollcall/shared/errors';
import { readHubInfo } from '@rollcall/shared/hub';
import {
  apiVersionOf,
  createKubeClient,
  type KubeClient,
  type KubeObject,
  loadKubeAccess,
  resources,
} from '@rollcall/shared/kubernetes';
import type { ManagedCluster } from '@rollcall/shared/resources';
import { rollcallVersion } from '@rollcall/shared/service/version';
import { createRegistrationToken } from '@rollcall/shared/trust';
import { decideRequest } from '../decide/decide-request.ts';
import { durationFlagMs } from '../duration-flag.ts';
import type { HubFlags } from '../hub-access.ts';
import { printResult } from '../output.ts';
import { waitForObject } from '../wait-for-object.ts';
import { installAgent } from './install-agent.ts';
import { installHub } from './install-hub.ts';

export interface InstallAllInOneFlags extends HubFlags {
  readonly hubValues?: readonly string[];
  readonly agentValues?: readonly string[];
  readonly advertise?: readonly string[];
  readonly keys: string;
  readonly clusterName: string;
  readonly image?: string;
  readonly timeout: string;
}

interface Asked {
  readonly client: KubeClient;
  readonly clusterName: string;
  readonly timeoutMs: number;
}

type Conditioned = KubeObject<unknown, { conditions?: readonly { type: string; status: string }[] }>;
const isReady = ({ status }: Conditioned | ManagedCluster) =>
  status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') ?? false;

function inTime<Found>(found: Found | undefined, what: string): Found {
  if (found !== undefined) return found;
  throw new RollcallError('DEADLINE_EXCEEDED', `${what} has not come in time`);
}

/** A token for this one cluster, good for one use. */
async function makeToken({ client, clusterName, timeoutMs }: Asked): Promise<string> {
  const { hubId } = await readHubInfo(client);
  const token = createRegistrationToken(hubId);
  const resource = resources.clusterRegistrationTokens;
  const where = { name: `all-in-one-${randomBytes(4).toString('hex')}`, namespace: 'rollcall-join' };
  const spec = { publicKey: token.key.publicKey, clusterName, ttl: '1h' };
  const object = { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata: where, spec };
  await client.create<KubeObject>(resource, object, { namespace: where.namespace });
  inTime(
    await waitForObject<Conditioned>(client, { resource, ...where, timeoutMs }, isReady),
    'a token that the hub takes',
  );
  return token.text;
}

/** As the person who installs: without a policy nobody else would let this cluster in. */
async function approve({ client, timeoutMs }: Asked, flags: InstallAllInOneFlags): Promise<void> {
  const place = await client.get(resources.namespaces, { name: 'kube-system' });
  const name = inTime(place?.metadata.uid, 'the id of this cluster');
  const on = { resource: resources.clusterRegistrationRequests, name, timeoutMs };
  inTime(await waitForObject(client, on, () => true), 'the request of the agent');
  await decideRequest('approve', name, flags);
}

/**
 * Puts a hub into a cluster, and the agent of that same cluster beside it, let in by the person who does this.
 * @throws RollcallError what `installHub`, `installAgent` and `decideRequest` throw; DEADLINE_EXCEEDED
 */
export async function installAllInOne(flags: InstallAllInOneFlags): Promise<void> {
  const timeoutMs = durationFlagMs('--timeout', flags.timeout);
  const { hubValues: values, clusterName, ...shared } = flags;
  await installHub({ ...shared, ...(values ? { values } : {}), output: 'text', wait: true });
  const access = loadKubeAccess({ path: flags.kubeconfig, context: flags.context ?? flags.karmadaContext });
  const client = createKubeClient(access, {
    fieldManager: 'rollcall-install',
    userAgent: `rollcall/${rollcallVersion}`,
  });
  try {
    const asked = { client, clusterName, timeoutMs };
    const known = await client.get<ManagedCluster>(resources.managedClusters, { name: clusterName });
    const { addresses, caCertHash } = await readHubInfo(client);
    const context = flags.context ?? flags.karmadaContext;
    await installAgent({
      ...(flags.kubeconfig === undefined ? {} : { memberKubeconfig: flags.kubeconfig }),
      ...(context === undefined ? {} : { memberContext: context }),
      ...(flags.agentValues ? { values: flags.agentValues } : {}),
      ...(flags.image === undefined ? {} : { image: flags.image }),
      ...(known ? {} : { token: await makeToken(asked) }),
      hub: addresses,
      caCertHash: [caCertHash],
      clusterName,
      output: 'text',
      wait: true,
      timeout: flags.timeout,
    });
    if (!known) await approve(asked, flags);
    const on = { resource: resources.managedClusters, name: clusterName, timeoutMs };
    inTime(await waitForObject<ManagedCluster>(client, on, isReady), `cluster "${clusterName}" as Ready`);
    printResult(`cluster "${clusterName}" is Ready on its own hub`);
  } finally {
    client.close();
  }
}
