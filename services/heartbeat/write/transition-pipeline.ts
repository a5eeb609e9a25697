import type { NatsConnection } from '@nats-io/transport-node';
import type { EventLog } from '@rollcall/shared/bus';
import type { Logger, Metrics } from '@rollcall/shared/service';
import type { HubClock } from '../engine/hub-clock.ts';
import type { LivenessEngine } from '../engine/liveness-engine.ts';
import { observeRegistration } from '../figures/registration-time.ts';
import type { FlapSettings } from '../members/flapping.ts';
import type { HeartbeatReceiver } from '../receive/receive-heartbeats.ts';
import { watchReceiving } from '../receive/watch-receiving.ts';
import { coordinateTransitions } from './confirm-and-write.ts';
import { joinReplicas } from './ask-replicas.ts';
import type { SayLive } from './write-findings.ts';

/** Writes what the engine proposes, with the other replicas on the bus, and says it to those who watch. */
export function writeTransitions(
  nc: NatsConnection,
  options: {
    engine: LivenessEngine;
    receiver: Pick<HeartbeatReceiver, 'isReceiving'>;
    log: EventLog;
    clock: HubClock;
    logger: Logger;
    metrics: Metrics;
    flap: FlapSettings;
    sayLive: SayLive;
  },
): { notReady(): string | undefined; drain(): Promise<void> } {
  const { engine, receiver, clock, metrics, sayLive } = options;
  const receiving = watchReceiving(nc, () => receiver.isReceiving());
  const replicas = joinReplicas(nc, (id) => engine.snapshot.silentForMs(id, clock.monotonicMs()));
  const transitions = coordinateTransitions({
    ...options,
    replicas,
    isReceiving: () => receiving.check(),
    written({ clusterId, state, cause }, joinedFrom) {
      if (joinedFrom) observeRegistration(metrics, joinedFrom, clock.hubMs());
      sayLive(clusterId, state, cause);
    },
    notReceiving() {
      metrics.count('rollcall_liveness_not_receiving_total');
      engine.listenAfresh(clock.monotonicMs());
    },
  });
  return {
    notReady: () =>
      receiving.receivesNothing() ? 'not receiving: its own heartbeats do not come back' : undefined,
    async drain() {
      await transitions.drain();
      replicas.stop();
    },
  };
}
