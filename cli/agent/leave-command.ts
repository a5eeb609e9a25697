import {
  type AgentState,
  directoryKeyStore,
  forgetDirectory,
  formatHubAddress,
  type HubNetwork,
  type HubTrust,
  type KeyStore,
  runAgent,
  secretKeyStore,
  type Uninstall,
  uninstallFromMember,
} from '@rollcall/agent';
import { RollcallError } from '@rollcall/shared/errors';
import { createKubeClient, type KubeAccess, type KubeClient } from '@rollcall/shared/kubernetes';
import { rollcallVersion } from '@rollcall/shared/service/version';
import { durationFlagMs } from '../duration-flag.ts';
import { memberAccess, type MemberFlags } from '../member-access.ts';
import { printResult, say } from '../output.ts';
import { finalError } from '../register/foreground-agent.ts';
import { agentNamespace } from '../unregister/member-of-cluster.ts';
import { type NetworkFlags, networkOf } from './network-flags.ts';
import { addressesOf, type TrustFlags, trustOf } from './joining-flags.ts';
import { createPhaseLine } from './phase-line.ts';
import { readBootstrap } from './run-agent-command.ts';

export interface AgentLeaveFlags extends MemberFlags, TrustFlags, NetworkFlags {
  readonly hub?: readonly string[];
  readonly stateDir?: string;
  readonly timeout: string;
  readonly dryRun?: boolean;
}

/** An agent that is installed: its keys, its hub, and how to take it away again. */
interface Installed {
  readonly state: AgentState;
  readonly store: KeyStore;
  readonly hub: readonly string[];
  readonly trust: HubTrust;
  readonly network: HubNetwork;
  readonly uninstall: Uninstall;
}

async function findInstalled(client: KubeClient, flags: AgentLeaveFlags): Promise<Installed> {
  const { stateDir } = flags;
  const kept =
    stateDir === undefined
      ? secretKeyStore(client, { namespace: agentNamespace })
      : directoryKeyStore(stateDir);
  const state = await kept.load();
  if (!state) throw new RollcallError('NOT_FOUND', `there is no agent: ${kept.place} has no keys`);
  const bootstrap =
    stateDir === undefined
      ? await readBootstrap({ client, namespace: agentNamespace, name: 'rollcall-bootstrap' })
      : undefined;
  const hub = flags.hub ?? (bootstrap?.hub === undefined ? undefined : [bootstrap.hub]);
  const ownCa = state.hubCaPem === undefined ? undefined : { caPem: state.hubCaPem };
  const trust = trustOf(flags) ?? bootstrap?.trust ?? ownCa;
  if (!hub || !trust)
    throw new RollcallError(
      'USAGE',
      'give --hub, and --ca-cert-hash or --ca-file: the keys do not say which hub they are for',
    );
  return {
    state,
    // The agent itself may be running and writes there: what is written here would end with the keys anyway.
    store: { ...kept, load: () => Promise.resolve(state), save: () => Promise.resolve() },
    hub,
    trust,
    network: networkOf(flags, bootstrap?.network),
    uninstall: stateDir === undefined ? uninstallFromMember(client) : forgetDirectory(stateDir),
  };
}

/** Says to the hub, with the keys of the agent, that it leaves, and removes it once the hub has heard it. */
async function leaveWith(installed: Installed, member: KubeAccess, timeoutMs: number): Promise<void> {
  const phaseLine = createPhaseLine();
  const { state, store, hub, trust, network, uninstall } = installed;
  const refused = Promise.withResolvers<never>();
  const agent = await runAgent({
    hub: addressesOf(hub).map(formatHubAddress),
    trust,
    network,
    member,
    store,
    clusterName: state.member?.clusterName ?? 'leaving',
    // The keys say whose they are; a member that is down need not be asked.
    clientId: state.clusterId,
    version: rollcallVersion,
    leave: true,
    uninstall,
    onPhase(event) {
      const final = finalError(event);
      if (final) refused.reject(final);
      else if (event.phase !== 'preflight') say(phaseLine(event));
    },
  });
  const timer = Promise.withResolvers<'late'>();
  const late = setTimeout(() => timer.resolve('late'), timeoutMs);
  try {
    const outcome = await Promise.race([agent.left(), refused.promise, timer.promise]);
    if (outcome === 'late')
      throw new RollcallError('DEADLINE_EXCEEDED', `the cluster has not left after ${timeoutMs / 1000} s`);
  } finally {
    clearTimeout(late);
    await agent.stop();
  }
}

/**
 * Has a cluster leave its hub from the member's side, and removes its agent.
 * @throws RollcallError NOT_FOUND, USAGE, DEADLINE_EXCEEDED; what the hub refuses
 */
export async function leaveAsAgent(flags: AgentLeaveFlags): Promise<void> {
  const timeoutMs = durationFlagMs('--timeout', flags.timeout);
  const member = await memberAccess(flags);
  const client = createKubeClient(member, {
    fieldManager: 'rollcall-cli',
    userAgent: `rollcall/${rollcallVersion}`,
  });
  try {
    const installed = await findInstalled(client, flags);
    const { state, hub, store } = installed;
    const name = state.member?.clusterName ?? state.clusterId;
    say(`hub: ${hub.join(', ')}`);
    say(
      flags.stateDir === undefined
        ? `member: ${member.server} (context "${member.contextName}", user "${member.userName}"); the agent in namespace ${agentNamespace} is removed`
        : `keys: ${store.place} are forgotten`,
    );
    if (flags.dryRun) {
      say(`cluster "${name}" would leave (dry run; nothing was changed)`);
      return;
    }
    await leaveWith(installed, member, timeoutMs);
    printResult(`cluster "${name}" has left the hub`);
  } finally {
    client.close();
  }
}
