import { setTimeout as delay } from 'node:timers/promises';
import { type SimulatedAgent, startSimulatedAgent } from '@rollcall/agent/simulated-agent';
import { type FlakyNetwork, openFlakyNetwork } from './flaky-network.ts';
import type { Action } from './fleet-plan.ts';
import { simulatedLabel } from './made-up-history.ts';

/** Agents with keys and connections of their own, each over a network of its own. */
export interface RealAgents {
  /** Starts joining; who is let in, the hub says. */
  join(clusterId: string): Promise<void>;
  /** `back` is done when it sends heartbeats again: agents take their time to connect. */
  do(verb: Action['verb'], clusterId: string): Promise<void>;
  /** Whether it had one ever. */
  has(clusterId: string): boolean;
  changeFacts(clusterId: string): void;
  /** What went wrong for them, by phase and error code. */
  readonly troubles: Readonly<Record<string, number>>;
  /** All say goodbye; their clusters stay registered. */
  stop(): Promise<void>;
  /** All leave the hub. */
  leave(): Promise<void>;
}

interface OneAgent {
  readonly agent: SimulatedAgent;
  readonly network: FlakyNetwork;
  isStopped: boolean;
  /** Whether what it sends gets through. */
  isOpen: boolean;
  /** Wait for its next heartbeat that gets through. */
  readonly awaited: Set<() => void>;
}

/** Whoever the hub does not answer is given up. One that is started again on a busy machine answers after half a minute. */
const leaveWithinMs = 120_000;

/** @param options.servers - `host:port` of the hub's NATS servers; each agent comes to one of them, in turn */
export function createRealAgents(options: {
  servers: readonly string[];
  caPem: string;
  token: string;
}): RealAgents {
  let comes = 0;
  const agents = new Map<string, OneAgent>();
  const known = new Set<string>();
  const troubles: Record<string, number> = {};

  async function leaveOne(clusterId: string): Promise<void> {
    const one = agents.get(clusterId);
    if (!one) return;
    agents.delete(clusterId);
    one.network.become('open');
    const giveUp = new AbortController();
    const late = delay(leaveWithinMs, undefined, { signal: giveUp.signal }).catch(() => undefined);
    const hasLeft = await Promise.race([one.agent.leaveHub().then(() => true), late.then(() => false)]);
    giveUp.abort();
    // It would go on for as long as this process, which would never end.
    if (!hasLeft) await one.agent.stop();
    await one.network[Symbol.asyncDispose]();
  }

  return {
    troubles,
    async join(clusterId) {
      const [host = '', port] = (options.servers[comes++ % options.servers.length] ?? '').split(':');
      const network = await openFlakyNetwork({ host, port: Number(port) });
      const agent = startSimulatedAgent({
        cluster: clusterId,
        hub: [`127.0.0.1:${network.port}`],
        caPem: options.caPem,
        token: options.token,
        labels: simulatedLabel,
        onTrouble(what) {
          troubles[what] = (troubles[what] ?? 0) + 1;
        },
        onHeartbeat() {
          const one = agents.get(clusterId);
          if (!one?.isOpen) return;
          for (const heard of one.awaited) heard();
          one.awaited.clear();
        },
      });
      known.add(clusterId);
      agents.set(clusterId, { agent, network, isStopped: false, isOpen: true, awaited: new Set() });
    },
    has: (clusterId) => known.has(clusterId),
    changeFacts: (clusterId) => agents.get(clusterId)?.agent.changeFacts(),
    async do(verb, clusterId) {
      const one = agents.get(clusterId);
      if (!one) return;
      switch (verb) {
        case 'cut':
        case 'mute':
          one.isOpen = false;
          one.network.become(verb);
          break;
        case 'goodbye':
          one.isStopped = true;
          await one.agent.stop();
          break;
        case 'back':
          one.isOpen = true;
          one.network.become('open');
          if (one.isStopped) one.agent.startAgain();
          one.isStopped = false;
          await new Promise<void>((resolve) => one.awaited.add(resolve));
          break;
        case 'leave':
          await leaveOne(clusterId);
          break;
        case 'register':
          break;
      }
    },
    async stop() {
      for (const { network } of agents.values()) network.become('open');
      await Promise.all([...agents.values()].map(({ agent }) => agent.stop()));
      await Promise.all([...agents.values()].map(({ network }) => network[Symbol.asyncDispose]()));
      agents.clear();
    },
    async leave() {
      await Promise.all([...agents.keys()].map(leaveOne));
    },
  };
}
