import type { KubeAccess, KubeClient } from '@rollcall/shared/kubernetes';
import { createKubeClient } from '@rollcall/shared/kubernetes/client';
import { resources } from '@rollcall/shared/kubernetes/resources';
import { RollcallError } from '@rollcall/shared/errors';
import type { Logger } from '@rollcall/shared/service';
import { rollcallVersion } from '@rollcall/shared/service/version';
import { installedInMember, uninstallFromMember } from '../installed-objects.ts';
import { secretKeyStore } from '../key-store-secret.ts';
import { runAgent, type RunningAgent } from '../main.ts';
import type { Uninstall } from '../removal.ts';
import { failureWords } from './failure-words.ts';
import type { HostWish } from './host-wish.ts';
import type { MemberSecret } from './member-secret.ts';

/** What the agents of a host have in common. */
export interface HostedAgents {
  readonly client: KubeClient;
  /** The join namespace. */
  readonly namespace: string;
  readonly hub: readonly string[];
  readonly hubCaPem: string;
  readonly logger: Logger;
}

export const memberClientOptions = {
  fieldManager: 'rollcall-agent',
  userAgent: `rollcall-agent-host/${rollcallVersion}`,
} as const;

/** Names of the Secrets that the host keeps for a member; a cluster id is a safe name. */
export const keysSecret = (clusterId: string) => `rollcall-agent-${clusterId}`;
export const tokenSecret = (clusterId: string) => `rollcall-agent-token-${clusterId}`;

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
export function loggerOf(host: HostedAgents, { clusterId }: Pick<HostWish, 'clusterId'>): Logger {
  return inOurWords(host.logger.child({ clusterId }));
}

/**
 * For the agent of a member whose cluster has left. What the host made on the hub goes in any case; in the member only what
 * `rollcall join` made there.
 */
export function uninstallHosted(
  { client, namespace }: HostedAgents,
  { clusterId, access, isMadeByJoin }: { clusterId: string; access: KubeAccess; isMadeByJoin: boolean },
): Uninstall {
  const secrets = [keysSecret(clusterId), tokenSecret(clusterId)];
  const onHub = `on the hub: Secrets ${secrets.join(', ')} in namespace ${namespace}`;
  return {
    what: isMadeByJoin ? `${installedInMember}; ${onHub}` : onHub,
    beforeGoodbye: async () => undefined,
    async afterGoodbye() {
      try {
        if (isMadeByJoin) await removeFromMember(access);
      } finally {
        for (const name of secrets) await client.delete(resources.secrets, name, { namespace });
      }
    },
  };
}

async function removeFromMember(access: KubeAccess): Promise<void> {
  const member = createKubeClient(access, memberClientOptions);
  try {
    const { beforeGoodbye, afterGoodbye } = uninstallFromMember(member);
    await beforeGoodbye();
    await afterGoodbye();
  } finally {
    member.close();
  }
}

/**
 * Is the agent of a member that is not in it: keys of its own, kept in a Secret on the hub, and the same protocol as any agent.
 * @throws RollcallError TOKEN_INVALID where there is neither a token nor a key
 */
export async function startHostedAgent(
  host: HostedAgents,
  member: { wish: HostWish; secret: MemberSecret; access: KubeAccess },
): Promise<RunningAgent> {
  const { wish, secret, access } = member;
  const { clusterId, clusterName, clientId, clusterType } = wish;
  const store = secretKeyStore(host.client, { namespace: host.namespace, name: keysSecret(clusterId) });
  const logger = loggerOf(host, wish);
  const known = await store.load();
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
