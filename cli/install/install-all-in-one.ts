import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import { readHubInfo } from '@rollcall/shared/hub';
import { type KubeClient, loadKubeAccess, resources } from '@rollcall/shared/kubernetes';
import type { ManagedCluster } from '@rollcall/shared/resources';
import { decideRequest } from '../decide/decide-request.ts';
import { printOutcome } from '../get/print-objects.ts';
import { timeoutFlagMs } from '../duration-flag.ts';
import type { HubFlags } from '../hub-access.ts';
import { printResult } from '../terminal/output.ts';
import { makeToken } from '../token/make-token.ts';
import { waitForObject } from '../wait-for-object.ts';
import { agentRules, agentValuesSchema } from './agent/agent-values.ts';
import { installAgent } from './agent/install-agent.ts';
import { findInstalled, refuseHelm } from './find-installed.ts';
import { checkValues, readValuesFile } from './values.ts';
import { installClient } from './install-client.ts';
import { installHub } from './hub/install-hub.ts';

export interface InstallAllInOneFlags extends HubFlags {
  readonly hubValues?: readonly string[];
  readonly agentValues?: readonly string[];
  readonly advertise?: readonly string[];
  readonly keys: string;
  readonly clusterName: string;
  readonly image?: string;
  readonly timeout: string;
}

const readyOf = ({ status }: ManagedCluster) => status?.conditions?.find(({ type }) => type === 'Ready');
const isReady = (cluster: ManagedCluster) => readyOf(cluster)?.status === 'True';

function inTime<Found>(found: Found | undefined, what: string): Found {
  if (found !== undefined) return found;
  throw new RollcallError('DEADLINE_EXCEEDED', `${what} has not come in time`);
}

/** As kubectl finds it: a person's other commands would prefer the embedded hub of this directory. */
function asKubectl(flags: InstallAllInOneFlags): InstallAllInOneFlags {
  const usual = join(homedir(), '.kube', 'config');
  if (flags.kubeconfig !== undefined || process.env['KUBECONFIG'] || !existsSync(usual)) return flags;
  return { ...flags, kubeconfig: usual };
}

/** As the person who installs: without a policy nobody else would let this cluster in. */
async function approve(client: KubeClient, flags: InstallAllInOneFlags, timeoutMs: number): Promise<void> {
  const place = await client.get(resources.namespaces, { name: 'kube-system' });
  const name = inTime(place?.metadata.uid, 'the id of this cluster');
  const on = { resource: resources.clusterRegistrationRequests, name, timeoutMs };
  inTime(await waitForObject(client, on, () => true), 'the request of the agent');
  printOutcome(await decideRequest('approve', name, { ...asKubectl(flags), output: 'text' }), 'text');
}

/**
 * What would be refused once the hub is there is refused before it is.
 * @throws RollcallError CONFIG_INVALID, INSTALLED_BY_HELM, NAMESPACE_TERMINATING
 */
async function refuseAgentFirst(
  client: KubeClient,
  { agentValues = [] }: InstallAllInOneFlags,
): Promise<void> {
  const ofHub = { hub: 'as installed', caBundle: 'as installed' };
  checkValues([...agentValues.map(readValuesFile), ofHub], agentValuesSchema, agentRules);
  const namespace = 'rollcall-agent';
  refuseHelm(await findInstalled(client, { name: 'rollcall-agent', namespace }), namespace);
}

/**
 * Puts a hub into a cluster, and the agent of that same cluster beside it, let in by the person who does this.
 * @throws RollcallError what `installHub`, `installAgent` and `decideRequest` throw; DEADLINE_EXCEEDED
 */
export async function installAllInOne(flags: InstallAllInOneFlags): Promise<void> {
  const timeoutMs = timeoutFlagMs(flags.timeout);
  const { hubValues: values, clusterName, ...shared } = flags;
  const access = loadKubeAccess({ path: flags.kubeconfig, context: flags.context ?? flags.karmadaContext });
  const client = installClient(access);
  try {
    await refuseAgentFirst(client, flags);
    await installHub({ ...shared, ...(values ? { values } : {}), output: 'text', wait: true });
    const known = await client.get<ManagedCluster>(resources.managedClusters, { name: clusterName });
    const { hubId, addresses, caCertHash } = await readHubInfo(client);
    const context = flags.context ?? flags.karmadaContext;
    const name = `all-in-one-${randomBytes(4).toString('hex')}`;
    const terms = { clusterName };
    const token = known
      ? undefined
      : await makeToken(client, { hubId, name, uses: 1, terms, takenWithinMs: timeoutMs });
    await installAgent({
      ...(flags.kubeconfig === undefined ? {} : { memberKubeconfig: flags.kubeconfig }),
      ...(context === undefined ? {} : { memberContext: context }),
      ...(flags.agentValues ? { values: flags.agentValues } : {}),
      ...(flags.image === undefined ? {} : { image: flags.image }),
      ...(token === undefined ? {} : { token }),
      hub: addresses,
      caCertHash: [caCertHash],
      clusterName,
      output: 'text',
      wait: true,
      timeout: flags.timeout,
    });
    // One that waits was let in by nobody: whoever ran this before was stopped in between.
    if (!known || readyOf(known)?.reason === 'Held') await approve(client, flags, timeoutMs);
    const on = { resource: resources.managedClusters, name: clusterName, timeoutMs };
    inTime(await waitForObject<ManagedCluster>(client, on, isReady), `cluster "${clusterName}" as Ready`);
    printResult(`cluster "${clusterName}" is Ready on its own hub`);
  } finally {
    client.close();
  }
}
