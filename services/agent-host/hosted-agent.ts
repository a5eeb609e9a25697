import type { KubeAccess, KubeClient } from '@rollcall/shared/kubernetes';
import { createKubeClient } from '@rollcall/shared/kubernetes/client';
import { resources } from '@rollcall/shared/kubernetes/resources';
import { RollcallError } from '@rollcall/shared/errors';
import { namespaces } from '@rollcall/shared/resources';
import type { Logger } from '@rollcall/shared/service';
import { rollcallVersion } from '@rollcall/shared/service/version';
import {
  installedInMember,
  type KeyStore,
  type RunningAgent,
  runAgent,
  secretKeyStore,
  type Uninstall,
  uninstallFromMember,
} from '@rollcall/agent';
import { failureWords, ofHub } from './failure-words.ts';
import { type DesiredHosting, isOfEarlierRegistration } from './desired-hosting.ts';
import { type MemberSecret, type Secret, textIn } from './read-kubeconfig-secret.ts';

/** What the agents of a host have in common. */
export interface HostedAgents {
  readonly client: KubeClient;
  readonly hub: readonly string[];
  readonly hubCaPem: string;
  readonly logger: Logger;
}

export const memberClientOptions = {
  fieldManager: 'rollcall-agent',
  userAgent: `rollcall-agent-host/${rollcallVersion}`,
} as const;

/** Where nobody has rights but the agent host: what lies there is its own. */
const { agents: namespace } = namespaces;

/** Names of the Secrets that the host keeps for a member; a cluster id is a safe name, without dots. */
export const keysSecret = (clusterId: string) => `rollcall-agent-${clusterId}`;
export const tokenSecret = (clusterId: string) => `rollcall-agent-${clusterId}.token`;

/** The agent's own lines with our words in the place of a member's. */
function inOurWords(logger: Logger): Logger {
  const at =
    (level: 'debug' | 'info' | 'warn' | 'error'): Logger['warn'] =>
    ({ err, ...fields }, message) => {
      const { reason, message: why } = failureWords(err);
      logger[level](err === undefined ? fields : { ...fields, reason, state: why }, message);
    };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => inOurWords(logger.child(fields)),
  };
}

/** Tells what becomes of a member: nothing that it says itself. */
export function loggerOf(host: HostedAgents, { clusterId }: Pick<DesiredHosting, 'clusterId'>): Logger {
  return inOurWords(host.logger.child({ clusterId }));
}

/**
 * What `rollcall join` made in a member: the account that the host uses there.
 * @param accessOf - the way to it, asked for at each try; undefined where there is none
 */
export function uninstallAccount(accessOf: () => Promise<KubeAccess | undefined>): Uninstall {
  return {
    what: installedInMember,
    beforeGoodbye: async () => undefined,
    async afterGoodbye() {
      const access = await accessOf();
      if (access === undefined) return;
      const member = createKubeClient(access, memberClientOptions);
      try {
        const inMember = { name: 'rollcall-agent', namespace: 'rollcall-agent' };
        // The keys of an agent that was installed there since: the account is that one's now.
        if (await member.get(resources.secrets, inMember)) return;
        const { beforeGoodbye, afterGoodbye } = uninstallFromMember(member);
        await beforeGoodbye();
        await afterGoodbye();
      } finally {
        member.close();
      }
    },
  };
}

/** What the host keeps for a member: the last to go, because by it a host that was ended in between finds what is to be done. */
export function uninstallOnHub(
  { client }: Pick<HostedAgents, 'client'>,
  { clusterId }: Pick<DesiredHosting, 'clusterId'>,
): Uninstall {
  const secrets = [tokenSecret(clusterId), keysSecret(clusterId)];
  return {
    what: `on the hub: Secrets ${secrets.join(', ')} in namespace ${namespace}`,
    beforeGoodbye: async () => undefined,
    async afterGoodbye() {
      for (const name of secrets) await ofHub(client.delete(resources.secrets, name, { namespace }));
    },
  };
}

/** By which an account in the member can be removed after the Secret that people made is gone. */
const kubeconfigKey = 'kubeconfig';

/** @returns the kubeconfig of an account that `rollcall join` made; undefined where there is none, or no keys of an agent */
export async function keptKubeconfig(
  { client }: Pick<HostedAgents, 'client'>,
  { clusterId }: Pick<DesiredHosting, 'clusterId'>,
): Promise<string | undefined> {
  const secret = await client.get<Secret>(resources.secrets, { name: keysSecret(clusterId), namespace });
  return textIn(secret, kubeconfigKey);
}

/**
 * Is the agent of a member that is not in it: keys of its own, kept in a Secret on the hub, and the same protocol as any agent.
 * @throws RollcallError TOKEN_INVALID where there is neither a token nor a key
 */
export async function startHostedAgent(
  host: HostedAgents,
  member: { hosting: DesiredHosting; secret: MemberSecret; access: KubeAccess },
): Promise<RunningAgent> {
  const { hosting, secret, access } = member;
  const { clusterId, clusterName, clientId, clusterType } = hosting;
  const openStore = (): KeyStore => {
    const { place, load, save } = secretKeyStore(host.client, {
      namespace,
      name: keysSecret(clusterId),
      beside: secret.isMadeByJoin ? { [kubeconfigKey]: secret.kubeconfig } : {},
    });
    return { place, load: () => ofHub(load()), save: (state) => ofHub(save(state)) };
  };
  const logger = loggerOf(host, hosting);
  let store = openStore();
  let known = await store.load();
  if (known && isOfEarlierRegistration(known, hosting)) {
    logger.info({}, 'the keys of an earlier registration of the cluster are forgotten');
    await uninstallOnHub(host, hosting).afterGoodbye();
    store = openStore();
    known = await store.load();
  }
  if (known === undefined && secret.token === undefined)
    throw new RollcallError('TOKEN_INVALID', `there is no token, and no key in ${store.place}`);
  return runAgent({
    hub: host.hub,
    trust: { caPem: host.hubCaPem },
    // An agent that is a member needs none, and one of another hub would only be in the way.
    token: known?.member ? undefined : secret.token,
    member: access,
    store,
    clusterName,
    clientId,
    clusterType,
    mode: 'Push',
    version: rollcallVersion,
    logger,
    onPhase: ({ phase, detail }) =>
      logger.debug({ state: phase, ...(detail.code === undefined ? {} : { code: detail.code }) }, 'agent'),
  });
}
