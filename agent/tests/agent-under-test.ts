import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeAccess } from '@rollcall/shared/kubernetes';
import {
  type AgentOptions,
  directoryKeyStore,
  type PhaseEvent,
  runAgent,
  type RunningAgent,
} from '../main.ts';
import type { TestHub } from '../../tests/harness/test-hub.ts';

/** A member whose API server does not answer: an agent with a client id needs none to register. */
const deadMember: KubeAccess = {
  server: 'https://127.0.0.1:1',
  namespace: 'default',
  clusterName: 'a-dead-member',
  contextName: 'test',
  userName: 'test',
};

/** What an agent said, and a way to wait for what it will say. */
export interface Heard {
  readonly events: PhaseEvent[];
  next(fits: (event: PhaseEvent) => boolean): Promise<PhaseEvent>;
}

/** Listens to an agent: each `next` resolves with the first event that fits and was not taken by one before. */
function listenToPhases(): Heard & { onPhase(event: PhaseEvent): void } {
  const events: PhaseEvent[] = [];
  let from = 0;
  let wake = Promise.withResolvers<void>();
  return {
    events,
    onPhase(event) {
      events.push(event);
      wake.resolve();
      wake = Promise.withResolvers<void>();
    },
    async next(fits) {
      for (;;) {
        const at = events.findIndex((event, index) => index >= from && fits(event));
        const found = events[at];
        if (found) {
          from = at + 1;
          return found;
        }
        await wake.promise;
      }
    },
  };
}

export interface AgentUnderTest extends AsyncDisposable {
  readonly agent: RunningAgent;
  readonly heard: Heard;
  readonly directory: string;
  /** Stops it and runs it anew with the same keys. */
  runAgain(more?: Partial<AgentOptions>): Promise<AgentUnderTest>;
}

/** An agent with keys in a directory of its own and little patience. */
export async function startAgent(
  hub: TestHub,
  more: Partial<AgentOptions>,
  directory = mkdtempSync(join(tmpdir(), 'rollcall-agent-')),
): Promise<AgentUnderTest> {
  const heard = listenToPhases();
  const agent = await runAgent({
    hub: hub.address.servers,
    trust: { caPem: hub.address.caPem },
    member: deadMember,
    store: directoryKeyStore(directory),
    version: '0.1.0',
    // Names are unique on a hub; the context of all these members is the same.
    clusterName: more.clientId,
    onPhase: heard.onPhase,
    patience: { reconnect: { firstMs: 50, longestMs: 200 }, refusedRetryMs: 1000 },
    ...more,
  });
  let isHandedOn = false;
  return {
    agent,
    heard,
    directory,
    async runAgain(next = {}) {
      await agent.stop();
      isHandedOn = true;
      return startAgent(hub, { ...more, token: undefined, ...next }, directory);
    },
    async [Symbol.asyncDispose]() {
      await agent.stop();
      if (!isHandedOn) rmSync(directory, { recursive: true, force: true });
    },
  };
}
