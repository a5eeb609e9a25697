import { once } from 'node:events';
import { toRollcallError } from '@rollcall/shared/errors';
import { parseRegistrationToken } from '@rollcall/shared/trust/keys';
import { type AgentOptions, defaultPatience, type RunningAgent } from './config.ts';
import { clusterNameOf, contextClusterOf, readClusterId } from './facts/cluster-identity.ts';
import { openMemberApi } from './facts/member-api.ts';
import { followMember } from './facts/member-facts.ts';
import { parseHubAddress } from './hub/hub-address.ts';
import { findHubCa, findOnce } from './hub/hub-trust.ts';
import { withinMs } from './hub/within-ms.ts';
import { remove } from './install/uninstall-steps.ts';
import { loadState } from './keys/load-state.ts';
import { createLogLines } from './log-lines.ts';
import { beginMembership } from './session/begin-membership.ts';
import type { Admission } from './session/membership.ts';
import { memberAccessText } from './tunnel/impersonation.ts';

export type { AgentOptions, RunningAgent } from './config.ts';
export { mergeCidrs } from './facts/cidr.ts';
export { clusterNameOf, readClusterId } from './facts/cluster-identity.ts';
export { directoryHubAccess, type HubAccessStore, secretHubAccess } from './access/hub-access-store.ts';
export { type HubAddress, formatHubAddress, parseHubAddress } from './hub/hub-address.ts';
export { connectionFailure, findHubCa, firstHubCa, type HubTrust, isTrustFailure } from './hub/hub-trust.ts';
export { type HubNetwork, parseHostAliases } from './hub/hub-network.ts';
export { parseProxy, proxyName } from './hub/proxy-url.ts';
export { proxyFor, tryAddress } from './hub/secure-connection.ts';
export type { AgentState, KeyStore } from './keys/key-store.ts';
export { directoryKeyStore, forgetDirectory } from './keys/key-store-directory.ts';
export { installedInMember, uninstallFromMember } from './install/uninstall-from-member.ts';
export { remove, type Uninstall } from './install/uninstall-steps.ts';
export { showConditions } from './session/deployment-conditions.ts';
export { secretKeyStore } from './keys/key-store-secret.ts';
export { createLogLines } from './log-lines.ts';
export type { FactSettings } from './facts/member-facts.ts';
export type { Admission } from './session/membership.ts';
export { type MemberAccess, parseMemberAccess } from './tunnel/impersonation.ts';
export type { OnPhase, PhaseEvent, PhaseName } from './protocol/phase.ts';
export {
  directoryRotationRequest,
  type RotationRequest,
  secretRotationRequest,
} from './keys/rotation-request.ts';

/** A store that is away does not keep an agent from stopping: its credentials can be had again. */
const lastWriteMs = 2000;

/**
 * Runs an agent: makes or loads its keys, finds out which cluster this is, and keeps that cluster registered.
 * @returns once it runs, long before it is admitted
 * @throws RollcallError for what no waiting will help: TOKEN_INVALID, CONFIG_INVALID (an address), CLUSTER_NAME_INVALID,
 * AGENT_STATE_INVALID, AGENT_STATE_OTHER; and what the key store throws when it cannot be read
 */
export async function runAgent(options: AgentOptions): Promise<RunningAgent> {
  const { store, version, clientId, network = {}, onPhase = () => undefined } = options;
  const logger = options.logger ?? createLogLines('warn', (line) => process.stderr.write(line));
  const patience = { ...defaultPatience, ...options.patience };
  const addresses = options.hub.map(parseHubAddress);
  const token = options.token === undefined ? undefined : parseRegistrationToken(options.token);
  const stopping = new AbortController();
  const { signal } = stopping;
  const naming = { given: options.clusterName, contextCluster: contextClusterOf(options.member) };
  clusterNameOf({ ...naming, clusterId: 'not-known-yet' });

  // Everything that the first request needs is begun at once.
  const member = openMemberApi(options.member, version);
  const hubCa = findOnce(() => findHubCa(addresses, options.trust, network));
  const firstId = readClusterId(member, clientId);
  firstId.catch(() => undefined);
  const known = await loadState(store, token?.hubId, firstId).catch((error: unknown) => {
    member.close();
    throw error;
  });
  if (known?.hubCaPem === undefined) hubCa({ again: false }).catch(() => undefined);
  const facts = followMember(member, {
    agentVersion: version,
    settings: options.facts ?? {},
    memberAccess: options.memberAccess && memberAccessText(options.memberAccess),
    // Whoever may be hostile is listed anew each time, and that costs.
    lookAgainMs: options.member.caution ? patience.factsIntervalMs : patience.lookAgainMs,
    signal,
  });
  const prepared = { addresses, network, hubCa, token, member, facts, firstFacts: facts.read() };
  const context = { naming, firstId, known, patience, onPhase, logger, signal };
  const begun = beginMembership(options, { ...prepared, ...context });

  const admitted = Promise.withResolvers<Admission>();
  const left = Promise.withResolvers<void>();
  begun.then(({ membership }) => membership.admitted).then(admitted.resolve, () => undefined);

  async function run(): Promise<void> {
    const { membership, stateStore } = await begun;
    if (!(await membership.run())) return;
    await membership.leave();
    await withinMs(stateStore.kept(), lastWriteMs);
    // Last of all the keys: until then a crash is followed by another try.
    if (options.uninstall) await remove(options.uninstall, 'afterGoodbye', { logger, signal });
    onPhase({ phase: 'leave', message: 'the cluster has left the hub; the agent ends', detail: {} });
    left.resolve();
  }
  const running = run().catch((error: unknown) => {
    if (!signal.aborted) logger.error({ err: toRollcallError(error) }, 'the agent ended');
  });

  async function untilStopped(): Promise<void> {
    await once(signal, 'abort');
    const agent = await begun.catch(() => undefined);
    await agent?.membership.leave();
    await running;
    if (agent) await withinMs(agent.stateStore.kept(), lastWriteMs);
    member.close();
  }
  const stopped = untilStopped();
  return {
    admitted: () => admitted.promise,
    left: () => left.promise,
    rotate: () => void begun.then(({ membership }) => membership.rotate()).catch(() => undefined),
    stop() {
      stopping.abort();
      return stopped;
    },
  };
}
