import {
  createLogLines,
  formatHubAddress,
  type HubTrust,
  type KeyStore,
  type OnPhase,
  runAgent,
} from '@rollcall/agent';
import { RollcallError } from '@rollcall/shared/errors';
import type { KubeObject } from '@rollcall/shared/kubernetes';
import { createKubeClient } from '@rollcall/shared/kubernetes/client';
import { resources } from '@rollcall/shared/kubernetes/resources';
import { rollcallVersion } from '@rollcall/shared/service/version';
import { parseRegistrationToken } from '@rollcall/shared/trust/keys';
import { parseLabels } from '../labels-flag.ts';
import { memberAccess, type MemberFlags } from '../member-access.ts';
import { say } from '../terminal/output.ts';
import { untilStopSignal } from '../stop-signal.ts';
import { type AgentHome, openHome } from './agent-home.ts';
import { type FactFlags, factSettingsOf } from './fact-flags.ts';
import { addressesOf, tokenOf, type TrustFlags, trustOf } from './joining-flags.ts';
import { type MemberAccessFlags, memberAccessOf } from './member-access-flag.ts';
import { type NetworkFlags, networkOf, type NetworkTexts } from './network-flags.ts';
import { createPhaseLine } from './phase-line.ts';

export interface AgentRunFlags extends MemberFlags, TrustFlags, NetworkFlags, FactFlags, MemberAccessFlags {
  readonly hub?: readonly string[];
  readonly token?: string;
  readonly clusterName?: string;
  readonly clientId?: string;
  readonly labels?: string;
  readonly clusterType?: 'Standard' | 'Edge';
  readonly stateDir?: string;
  readonly hosted?: string;
}

type Secret = KubeObject & { data?: Record<string, string> };

/** What the Secret says, decoded; an empty text counts as not there. */
export function bootstrapFrom(data: Readonly<Record<string, string>> | undefined): {
  hub: string | undefined;
  trust: HubTrust | undefined;
  token: string | undefined;
  network: NetworkTexts;
} {
  const text = (key: string) =>
    Buffer.from(data?.[key] ?? '', 'base64')
      .toString('utf8')
      .trim() || undefined;
  const caPem = text('caBundle');
  const pins = text('caCertHash')?.split(',');
  return {
    hub: text('hub'),
    trust: caPem === undefined ? (pins === undefined ? undefined : { pins }) : { caPem },
    token: text('token'),
    network: { proxy: text('proxy'), noProxy: text('noProxy'), proxyCaBundle: text('proxyCaBundle') },
  };
}

/** `''` in the Deployment means: find out by yourself. */
function given(flag: string | undefined, variable: string): string | undefined {
  return flag ?? (process.env[variable] || undefined);
}

/** @throws RollcallError CONFIG_INVALID */
function clusterTypeOf(text: string | undefined): { clusterType?: 'Standard' | 'Edge' } {
  if (text === undefined) return {};
  if (text === 'Standard' || text === 'Edge') return { clusterType: text };
  throw new RollcallError('CONFIG_INVALID', `ROLLCALL_CLUSTER_TYPE "${text}" is neither Standard nor Edge`);
}

/** Lines for people at a terminal, JSON for collectors. */
function createOnPhase(): OnPhase {
  const phaseLine = createPhaseLine();
  if (process.stderr.isTTY) return (event) => say(phaseLine(event));
  const logger = createLogLines('info', (line) => process.stderr.write(line), { service: 'agent' });
  return ({ phase, message, detail }) => {
    const { code, reason, clusterId, clusterName, retryInMs } = detail;
    const fields = { code, reason, clusterId, clusterName, delayMs: retryInMs };
    const known = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
    logger[code === undefined ? 'info' : 'warn']({ state: phase, ...known }, message);
  };
}

/** @param place - undefined where there is no such Secret, and flags say everything */
export async function readBootstrap(
  place: AgentHome['bootstrap'],
): Promise<ReturnType<typeof bootstrapFrom>> {
  if (place === undefined) return bootstrapFrom(undefined);
  const { client, ...where } = place;
  return bootstrapFrom((await client.get<Secret>(resources.secrets, where))?.data);
}

/**
 * A changed hub registers again (surfaces: rollcall-bootstrap): a token of another hub makes the keys that were kept for the former
 * one worthless. A token of the same hub changes nothing.
 */
export function storeOfHub(store: KeyStore, token: string | undefined): KeyStore {
  if (token === undefined) return store;
  const { hubId } = parseRegistrationToken(token);
  return {
    ...store,
    async load() {
      const kept = await store.load();
      if (kept === undefined || kept.hubId === hubId) return kept;
      say(`the token is of another hub than the keys in ${store.place}: registering there, under new keys`);
      return undefined;
    },
  };
}

/**
 * Runs the agent until a signal, or until its cluster has left: in a pod from its Secrets, elsewhere from flags and a state directory.
 * @throws RollcallError USAGE, CONFIG_INVALID; what `runAgent` throws
 */
export async function runAgentCommand(flags: AgentRunFlags): Promise<void> {
  const stop = untilStopSignal();
  const member = await memberAccess(flags);
  const client = createKubeClient(member, {
    fieldManager: 'rollcall-agent',
    userAgent: `rollcall-agent/${rollcallVersion}`,
  });
  let home: AgentHome | undefined;
  try {
    home = openHome(client, flags);
    const { store, hubAccess, rotationRequest, uninstall } = home;
    const bootstrap = await readBootstrap(home.bootstrap);
    const hub = flags.hub ?? (bootstrap.hub === undefined ? undefined : [bootstrap.hub]);
    const trust = trustOf(flags) ?? bootstrap.trust;
    if (hub === undefined || trust === undefined) {
      throw home.bootstrap
        ? new RollcallError(
            'CONFIG_INVALID',
            `Secret ${home.bootstrap.name} in namespace ${home.bootstrap.namespace} does not say which hub and which CA`,
          )
        : new RollcallError('USAGE', 'give --hub, and --ca-cert-hash or --ca-file');
    }
    const token = tokenOf(flags.token) ?? bootstrap.token;
    const tell = createOnPhase();
    const agent = await runAgent({
      hub: addressesOf(hub).map(formatHubAddress),
      trust,
      network: networkOf(flags, bootstrap.network),
      token,
      member,
      store: home.bootstrap ? storeOfHub(store, token) : store,
      clusterName: given(flags.clusterName, 'ROLLCALL_CLUSTER_NAME'),
      clientId: given(flags.clientId, 'ROLLCALL_CLIENT_ID'),
      labels: parseLabels(given(flags.labels, 'ROLLCALL_LABELS') ?? ''),
      ...clusterTypeOf(given(flags.clusterType, 'ROLLCALL_CLUSTER_TYPE')),
      facts: factSettingsOf(flags, process.env),
      memberAccess: memberAccessOf(flags, process.env),
      version: rollcallVersion,
      uninstall,
      hubAccess,
      rotationRequest,
      onPhase(event) {
        tell(event);
        home?.showConditions?.(event);
      },
    });
    await Promise.race([stop, agent.left()]);
    await agent.stop();
  } finally {
    home?.close();
    client.close();
  }
}
