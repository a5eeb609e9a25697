import { setTimeout as delay } from 'node:timers/promises';
import type { EventLog } from '@rollcall/shared/bus';
import { createReconciler, decideAndAppend } from '@rollcall/shared/decisions';
import { toRollcallError } from '@rollcall/shared/errors';
import { clusterRecord, createEventId } from '@rollcall/shared/events';
import { namespaces } from '@rollcall/shared/resources';
import type { Logger } from '@rollcall/shared/service';
import { fullJitterMs } from '@rollcall/agent/back-off';
import { decideHosting, type HostingOutcome } from './hosting-event.ts';
import { keysSecret } from './hosted-agent.ts';
import { hostMember, type HostedMember, type HostedMemberParts } from './host-member.ts';
import { type DesiredHosting, desiredHostingOf, isSameWork } from './desired-hosting.ts';

export interface HostedMembers {
  /** Something was said about a cluster: its record is read, and followed. */
  look(clusterId: string): void;
  /** A Secret in one of the namespaces that it reads is another now, or is gone. */
  secretChanged(secret: { namespace: string; name: string; isGone: boolean }): void;
  count(): number;
  stop(): Promise<void>;
}

/** So that a host with thousands of members does not begin with all of them in the same moment. */
const startEveryMs = 10;
const longestStartMs = 30_000;
const tellAgain = { firstMs: 500, longestMs: 30_000 };

/** Keeps one member hosted for each cluster that asks for it; none knows of the others. */
export function createHostedMembers(
  log: Pick<EventLog, 'read' | 'append'>,
  parts: Omit<HostedMemberParts, 'tell'> & { nowMs(): number; logger: Logger },
): HostedMembers {
  const { logger, nowMs } = parts;
  const members = new Map<string, HostedMember>();
  /** Names of the Secrets with keys of our agents; those of tokens are named alike and do no harm. */
  const kept = new Set<string>();
  const starting = new AbortController();
  let underWay = 0;

  async function tell(hosting: DesiredHosting, outcome: HostingOutcome): Promise<void> {
    const gather = async () => ({
      record: clusterRecord(await log.read({ kind: 'cluster', id: hosting.clusterId })),
      hosting,
      outcome,
      nowMs: nowMs(),
    });
    const { clusterId } = hosting;
    const { signal } = starting;
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        const trace = { correlation: createEventId(nowMs()) };
        const { drafts } = await decideAndAppend(log, { gather, decide: decideHosting }, trace);
        if (drafts.length > 0) logger.info({ clusterId, reason: outcome.reason }, outcome.message);
        return;
      } catch (thrown) {
        const err = toRollcallError(thrown);
        logger.warn({ err, clusterId }, 'what became of a member could not be told');
        // Nobody asks for it again: without it the condition would stay as it is for good.
        if (!err.retry) return;
        const restMs = fullJitterMs(tellAgain, failures, Math.random());
        await delay(restMs, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  /** Not waited for: taking away what was made in a member takes minutes where that is away, and its cluster may come back. */
  async function endAside(clusterId: string, member: HostedMember): Promise<void> {
    await member.end();
    if (members.get(clusterId) === member) members.delete(clusterId);
  }

  function begin(hosting: DesiredHosting): HostedMember {
    const member = hostMember(hosting, { ...parts, tell });
    members.set(hosting.clusterId, member);
    return member;
  }

  async function follow(clusterId: string): Promise<void> {
    const hosting = desiredHostingOf(clusterRecord(await log.read({ kind: 'cluster', id: clusterId })));
    const before = members.get(clusterId);
    if (!hosting || hosting.hasLeft) {
      // Without one: an earlier run of this host ended before all was taken away.
      const member = before ?? (hosting && kept.has(keysSecret(clusterId)) ? begin(hosting) : undefined);
      if (member) void endAside(clusterId, member);
      return;
    }
    if (before && isSameWork(before.hosting, hosting)) {
      before.update(hosting);
      return;
    }
    if (before) {
      members.delete(clusterId);
      await before.stop();
    }
    underWay++;
    const atMost = Math.min(underWay * startEveryMs, longestStartMs);
    await delay(Math.random() * atMost, undefined, { signal: starting.signal }).catch(() => undefined);
    underWay--;
    if (!starting.signal.aborted) begin(hosting);
  }

  const looks = createReconciler({ logger, handle: follow, concurrency: 64 });
  return {
    look: (clusterId) => looks.wake(clusterId),
    secretChanged({ namespace, name, isGone }) {
      if (namespace === namespaces.agents) {
        if (isGone) kept.delete(name);
        else kept.add(name);
        return;
      }
      // A published token goes when it is used: that is no news.
      if (namespace === namespaces.join && isGone) return;
      for (const member of members.values()) {
        const { secret, clusterName } = member.hosting;
        if (name === (namespace === namespaces.join ? clusterName : secret)) member.wake();
      }
    },
    count: () => members.size,
    async stop() {
      starting.abort();
      await looks.drain();
      await Promise.all([...members.values()].map((member) => member.stop()));
    },
  };
}
