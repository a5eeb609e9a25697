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
import { timeoutFlagMs } from '../duration-flag.ts';
import { memberAccess, type MemberFlags } from '../member-access.ts';
import { printResult, say } from '../terminal/output.ts';
import { finalError } from '../register/foreground-agent.ts';
import { agentNamespace } from '../unregister/member-of-cluster.ts';
import type { AgentHome } from './agent-home.ts';
import { type HostedAgentFlags, openHostedAgent } from './find-hosted-agent.ts';
import { type NetworkFlags, networkOf } from './network-flags.ts';
import { addressesOf, type TrustFlags, trustOf } from './joining-flags.ts';
import { createPhaseLine } from './phase-line.ts';
import { readBootstrap } from './run-agent-command.ts';

export interface AgentLeaveFlags extends MemberFlags, HostedAgentFlags, TrustFlags, NetworkFlags {
  readonly hub?: readonly string[];
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

type Home = Pick<AgentHome, 'store' | 'bootstrap' | 'uninstall'>;

/** Where the agent has its keys, and what goes with it: in its member, or in a directory. */
function homeOf(client: KubeClient, stateDir: string | undefined): Home {
  const namespace = agentNamespace;
  if (stateDir !== undefined) {
    const store = directoryKeyStore(stateDir);
    return { store, bootstrap: undefined, uninstall: forgetDirectory(stateDir) };
  }
  return {
    store: secretKeyStore(client, { namespace }),
    bootstrap: { client, namespace, name: 'rollcall-bootstrap' },
    uninstall: uninstallFromMember(client),
  };
}

async function findInstalled(
  { store: kept, bootstrap: place, uninstall }: Home,
  flags: AgentLeaveFlags,
): Promise<Installed> {
  const state = await kept.load();
  if (!state) throw new RollcallError('NOT_FOUND', `there is no agent: ${kept.place} has no keys`);
  const bootstrap = await readBootstrap(place);
  const hub = flags.hub ?? (bootstrap.hub === undefined ? undefined : [bootstrap.hub]);
  const ownCa = state.hubCaPem === undefined ? undefined : { caPem: state.hubCaPem };
  const trust = trustOf(flags) ?? bootstrap.trust ?? ownCa;
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
    network: networkOf(flags, bootstrap.network),
    uninstall,
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
  const timeoutMs = timeoutFlagMs(flags.timeout);
  const hosted = openHostedAgent(flags);
  // The agent's own cluster will do for one whose member is elsewhere: nothing is asked of it.
  const member = hosted ? hosted.access : await memberAccess(flags);
  const client = createKubeClient(member, {
    fieldManager: 'rollcall-cli',
    userAgent: `rollcall/${rollcallVersion}`,
  });
  try {
    const installed = await findInstalled(hosted ?? homeOf(client, flags.stateDir), flags);
    const { state, hub, store } = installed;
    const name = state.member?.clusterName ?? state.clusterId;
    say(`hub: ${hub.join(', ')}`);
    if (hosted) say(`${hosted.place} are forgotten; its pod ends, and its Deployment is yours to remove`);
    else if (flags.stateDir !== undefined) say(`keys: ${store.place} are forgotten`);
    else {
      say(
        `member: ${member.server} (context "${member.contextName}", user "${member.userName}"); the agent in namespace ${agentNamespace} is removed`,
      );
    }
    if (flags.dryRun) {
      say(`cluster "${name}" would leave (dry run; nothing was changed)`);
      return;
    }
    await leaveWith(installed, member, timeoutMs);
    printResult(`cluster "${name}" has left the hub`);
  } finally {
    client.close();
    hosted?.close();
  }
}
