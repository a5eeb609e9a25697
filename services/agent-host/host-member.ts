import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError } from '@rollcall/shared/errors';
import type { KubeAccess } from '@rollcall/shared/kubernetes';
import { createKubeClient } from '@rollcall/shared/kubernetes/client';
import { namespaces } from '@rollcall/shared/resources';
import { fullJitterMs } from '@rollcall/agent/back-off';
import { remove } from '@rollcall/agent';
import { failureWords, ofHub } from './failure-words.ts';
import type { DesiredHosting } from './desired-hosting.ts';
import type { HostingOutcome } from './hosting-event.ts';
import {
  type HostedAgents,
  loggerOf,
  memberClientOptions,
  keptKubeconfig,
  startHostedAgent,
  tokenSecret,
  uninstallAccount,
  uninstallOnHub,
} from './hosted-agent.ts';
import { installAgent, type RenderAgent } from './install-agent.ts';
import { type MemberSecret, readMemberSecret } from './read-kubeconfig-secret.ts';
import { secretTokenStore, withRenewedToken } from './renewed-token.ts';
import { tryMember } from './try-member.ts';

export interface HostedMemberParts extends HostedAgents {
  readonly agentImage: string;
  readonly render: RenderAgent;
  /** @throws RollcallError MEMBER_KUBECONFIG_REFUSED */
  readonly accessOf: (kubeconfig: string) => Promise<KubeAccess>;
  /** Has the hub hear what became of it, however long that takes; never rejects. */
  tell(hosting: DesiredHosting, outcome: HostingOutcome): Promise<void>;
}

/** One member that the hub reaches by itself; each goes its own way, so that none waits for another. */
export interface HostedMember {
  readonly hosting: DesiredHosting;
  /** Its record says more now; what waits for that goes on. */
  update(hosting: DesiredHosting): void;
  /** A Secret is another now: what waits, or uses the former one, looks again at once. */
  wake(): void;
  /** Its cluster has left: it ends, and takes along what was made for it. Resolves then. */
  end(): Promise<void>;
  stop(): Promise<void>;
}

/** A member that was reached, and how. */
interface Reached {
  readonly secret: MemberSecret;
  readonly access: KubeAccess;
}

/** A member that is away for good costs a look in five minutes. */
const backOff = { firstMs: 1000, longestMs: 300_000 };
/** An agent that was installed pulls its image, and starts. */
const heardWithinMs = 600_000;

export function hostMember(first: DesiredHosting, parts: HostedMemberParts): HostedMember {
  const stopping = new AbortController();
  const ending = new AbortController();
  let hosting = first;
  let changed = new AbortController();
  /** Kept: the Secret may go with the cluster, before what was made in the member. */
  let reached: Reached | undefined;
  const logger = parts.logger.child({ clusterId: first.clusterId });
  const isOver = () => stopping.signal.aborted || ending.signal.aborted;
  /** Something changed, or the end. */
  const news = () => AbortSignal.any([stopping.signal, ending.signal, changed.signal]);

  /** Until something changes, the time is over, or the end. */
  async function rest(restMs: number): Promise<void> {
    await delay(restMs, undefined, { signal: news() }).catch(() => undefined);
  }

  async function openAccess(kubeconfig: string): Promise<KubeAccess> {
    const access = await parts.accessOf(kubeconfig);
    if (hosting.mode === 'Pull' || typeof access.token !== 'string') return access;
    const where = { namespace: namespaces.agents, name: tokenSecret(hosting.clusterId) };
    return withRenewedToken(access, {
      store: secretTokenStore(parts.client, { ...where, first: access.token }),
      userAgent: memberClientOptions.userAgent,
      nowMs: Date.now,
      onTrouble: (error) =>
        logger.warn({ reason: failureWords(error).reason }, 'the token of a member could not be renewed'),
    });
  }

  async function look(): Promise<Reached> {
    const secret = await ofHub(readMemberSecret(parts.client, hosting));
    const access = await openAccess(secret.kubeconfig);
    const member = createKubeClient(access, memberClientOptions);
    try {
      await tryMember(member, hosting);
    } finally {
      member.close();
    }
    return { secret, access };
  }

  /** @returns whether the cluster has left */
  async function push(): Promise<boolean> {
    reached = await look();
    const agent = await startHostedAgent(parts, { hosting, ...reached });
    try {
      await parts.tell(hosting, {
        state: 'probed',
        reason: 'Probed',
        message: 'the agent host reaches the member, and is its agent',
      });
      const signal = news();
      const ended = Promise.withResolvers<false>();
      const end = () => ended.resolve(false);
      signal.addEventListener('abort', end, { once: true });
      if (signal.aborted) end();
      return await Promise.race([agent.left().then(() => true), ended.promise]);
    } finally {
      await agent.stop();
    }
  }

  /** @returns whether the agent in the member has asked; its token may be spent by then, so nothing is installed twice */
  async function pull(): Promise<boolean> {
    if (!hosting.hasRequested) {
      const { secret, access } = await look();
      const { agentImage: image, render } = parts;
      await installAgent({ access, secret, hosting, image, render });
      if (!hosting.hasRequested) await rest(heardWithinMs);
    }
    if (hosting.hasRequested) {
      await parts.tell(hosting, {
        state: 'installed',
        reason: 'AgentInstalled',
        message: `an agent runs in the member; the kubeconfig is not needed any more, and the Secret "${hosting.secret}" can be deleted`,
      });
      return true;
    }
    if (isOver() || changed.signal.aborted) return false;
    throw new RollcallError('DEADLINE_EXCEEDED', 'the agent was not heard');
  }

  async function host(): Promise<void> {
    let failures = 0;
    while (!isOver()) {
      changed = new AbortController();
      try {
        const isDone = await (hosting.mode === 'Push' ? push() : pull());
        if (isDone) return;
        failures = 0;
      } catch (thrown) {
        if (isOver()) return;
        failures++;
        const words = failureWords(thrown);
        const restMs = fullJitterMs(backOff, failures, Math.random());
        logger.warn({ reason: words.reason, delayMs: Math.round(restMs) }, 'a member cannot be hosted');
        await parts.tell(hosting, { state: 'failed', ...words });
        await rest(restMs);
      }
    }
  }

  /** The way to an account that was made in the member. By what an earlier run of this host kept, where this one never got there. */
  async function accountAccess(): Promise<KubeAccess | undefined> {
    if (reached) return reached.secret.isMadeByJoin ? reached.access : undefined;
    const kubeconfig = await ofHub(keptKubeconfig(parts, hosting));
    return kubeconfig === undefined ? undefined : openAccess(kubeconfig);
  }

  /** What of it is not done when the host ends is done by its next run: the keys on the hub go last. */
  async function takeAway(): Promise<void> {
    const { signal } = stopping;
    const options = { logger: loggerOf(parts, hosting), signal };
    let access: KubeAccess | undefined;
    const accessOf = async () => (access ??= await accountAccess());
    await remove(uninstallAccount(accessOf), 'afterGoodbye', options);
    if (!signal.aborted) await remove(uninstallOnHub(parts, hosting), 'afterGoodbye', options);
  }

  async function live(): Promise<void> {
    if (!first.hasLeft) await host();
    // Of a cluster that has left already something is kept, whatever its mode was in the end.
    const isToGo = hosting.mode === 'Push' || first.hasLeft;
    if (!stopping.signal.aborted && isToGo) await takeAway();
  }

  const running = live().catch((error: unknown) => {
    logger.error({ reason: failureWords(error).reason }, 'a member is not hosted any more');
  });
  return {
    get hosting() {
      return hosting;
    },
    update(next) {
      const hasCome = next.hasRequested && !hosting.hasRequested;
      hosting = next;
      // In mode Push it is this agent that has asked, and it goes on.
      if (hasCome && hosting.mode === 'Pull') changed.abort();
    },
    wake: () => changed.abort(),
    async end() {
      ending.abort();
      await running;
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
