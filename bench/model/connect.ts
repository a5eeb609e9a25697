import type { BackOff } from '../../agent/hub/back-off.ts';
import type { Process } from './queues/machine.ts';
import { anyOf, work, type World } from './world.ts';

/** As the agent is configured (agent/config.ts). */
export const usualPatience: BackOff = { firstMs: 1000, longestMs: 10_000 };
/** As a NATS server is configured (cli/up/nats/nats-config.ts): whoever is not through by then is let go. */
const handshakeWithinMs = 5000;

/**
 * A connection as a member: the handshake, the check of its credentials, its subscriptions, the first heartbeat.
 * @param then - told whether the server was in time; what it has done by then is done in vain
 */
export function connectMember(world: World, server: Process, then: (isIn: boolean) => void): void {
  const { timeline, numbers } = world;
  const { natsTlsMs, natsReturnMs, agentReturnMs, heartbeatReturnMs, roundTripMs } = numbers;
  const sinceMs = timeline.nowMs();
  const isInTime = () => timeline.nowMs() - sinceMs <= handshakeWithinMs;
  ofAgent(world, agentReturnMs / 2, () =>
    work(world, { on: server, costMs: natsTlsMs, patienceMs: handshakeWithinMs }, (isDone) => {
      if (!isDone || !isInTime()) return then(false);
      timeline.after(roundTripMs, () =>
        ofAgent(world, agentReturnMs / 2, () =>
          work(world, { on: server, costMs: natsReturnMs - natsTlsMs }, () => {
            if (!isInTime()) return then(false);
            hear(world, heartbeatReturnMs, () => then(true));
          }),
        ),
      );
    }),
  );
}

/**
 * A connection with a token, or with a key whose credentials have ended: the registrar says who may come in.
 * @param then - as of `connectMember`
 */
export function connectByCallout(world: World, server: Process, then: (isIn: boolean) => void): void {
  const { timeline, numbers, of } = world;
  const { natsTlsMs, natsCalloutMs, registrarCalloutMs, roundTripMs } = numbers;
  const sinceMs = timeline.nowMs();
  const isInTime = () => timeline.nowMs() - sinceMs <= handshakeWithinMs;
  work(world, { on: server, costMs: natsTlsMs, patienceMs: handshakeWithinMs }, (isDone) => {
    if (!isDone || !isInTime()) return then(false);
    timeline.after(roundTripMs, () =>
      work(world, { on: server, costMs: natsCalloutMs - natsTlsMs }, () => {
        // As services/registrar/callout/callout-queue.ts has it: who has waited for four seconds gets no answer.
        const asked = { on: anyOf(world, of.registrar), costMs: registrarCalloutMs, patienceMs: 4000 };
        work(world, asked, (isAnswered) => then(isAnswered && isInTime()));
      }),
    );
  });
}

/** All replicas of a part of the fleet hear the same; one of them tells. */
export function hear(world: World, costMs: number, then: () => void): void {
  const { heartbeat } = world.of;
  const { replicas, heartbeatParts } = world.numbers;
  const part = world.random.int(0, heartbeatParts - 1);
  for (let replica = 0; replica < replicas; replica++) {
    const on = heartbeat[part * replicas + replica];
    if (on) work(world, { on, costMs }, replica === 0 ? then : undefined);
  }
}

/** On machines of their own agents keep nobody waiting. */
export function ofAgent(world: World, costMs: number, then: () => void): void {
  if (world.agents.length === 0) return world.timeline.after(costMs, then);
  work(world, { on: anyOf(world, world.agents), costMs }, then);
}
