import type { NatsConnection } from '@nats-io/transport-node';
import { connectBus } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import type { Logger } from '@rollcall/shared/service';
import { keepTime } from '../../services/heartbeat/engine/keep-time.ts';
import { LivenessEngine } from '../../services/heartbeat/engine/liveness-engine.ts';
import { receiveHeartbeats } from '../../services/heartbeat/receive/receive-heartbeats.ts';
import {
  benchClusterId,
  indexOfTurn,
  type Taken,
  type Taker,
  type TakerOrder,
  type TakerReport,
  type TakerSettings,
} from './heartbeat-settings.ts';

/** Takes heartbeats while it listens. */
interface Listening {
  counts(): Taken;
  stop(): Promise<void>;
}
type Listen = (nc: NatsConnection) => Listening;

const nothing = () => undefined;
const logger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing, child: () => logger };

/** What the library and the connection alone cost. */
const listenToNothing: Listen = (nc) => {
  let heartbeats = 0;
  const subscription = nc.subscribe('rollcall.heartbeat.*', { callback: () => void heartbeats++ });
  return { counts: () => ({ heartbeats, proposals: 0 }), stop: async () => subscription.unsubscribe() };
};

/**
 * The heartbeat service's own parts, put together as its main.ts does; only the clusters are put in by hand, because the
 * history of a million would take longer to write than all of this. Its time stands still while it does not listen, and has
 * run for two rounds of heartbeats before, so that deadlines come as they do in a service that has run for long.
 */
function heartbeatOf(clusters: number, ratePerSecond: number): Listen {
  const intervalMs = (clusters * 1000) / ratePerSecond;
  let stoppedMs = performance.now() - 1e6;
  let offsetMs = 0;
  let proposals = 0;
  const clock = { monotonicMs: () => performance.now() - offsetMs, hubMs: () => Date.now() };
  const engine = new LivenessEngine({
    nowMs: stoppedMs - 2 * intervalMs,
    suspectAfterMs: 2000,
    steadyForMs: 120_000,
    outage: { share: 0.3, groupShare: 0.5, minimum: 10, windowMs: 15_000, deadlineMs: 300_000 },
    output: { live: nothing, outage: nothing, keyUse: nothing },
  });
  engine.proposals.takenBy(() => void proposals++);
  const ids = Buffer.alloc(64);
  for (let turn = 0; turn < 3 * clusters; turn++) {
    const nowMs = stoppedMs - 2 * intervalMs + (turn * 1000) / ratePerSecond;
    const id = benchClusterId(indexOfTurn(turn, clusters));
    if (turn < clusters) {
      const lastHeartbeatMs = nowMs;
      const known = { clusterId: id, key: 'U', intervalMs, graceMs: 3 * intervalMs, state: 'ready' } as const;
      engine.put({ ...known, sinceMs: lastHeartbeatMs, lastHeartbeatMs }, nowMs);
    } else {
      engine.hear(ids, 0, ids.write(id, 'latin1'), 0, nowMs);
    }
    if (turn % 1000 === 0) engine.advance(nowMs);
  }
  stoppedMs += intervalMs;
  return (nc) => {
    offsetMs = performance.now() - stoppedMs;
    const log = { read: () => Promise.reject(new RollcallError('UNEXPECTED', 'a cluster was not known')) };
    const receiver = receiveHeartbeats(nc, { engine, log, clock, logger, partition: undefined });
    receiver.listen();
    const stopTime = keepTime({ engine, clock, logger, isListening: () => true });
    return {
      counts: () => ({ heartbeats: receiver.counts.taken, proposals }),
      async stop() {
        stoppedMs = clock.monotonicMs();
        stopTime();
        await receiver.stop();
      },
    };
  };
}

const listenAs = (taker: Taker, ratePerSecond: number): Listen =>
  taker === 'empty' ? listenToNothing : heartbeatOf(taker, ratePerSecond);

interface Usage {
  readonly atMs: number;
  readonly cpuMs: number;
  readonly heartbeats: number;
}

async function main({ taker, ratePerSecond, address, user }: TakerSettings): Promise<void> {
  const listen = listenAs(taker, ratePerSecond);
  const nc = await connectBus(address, user, 'heartbeat');
  let listening: Listening | undefined;
  let begun: Usage | undefined;

  function usage(): Usage {
    const { user: userUs, system: systemUs } = process.cpuUsage();
    const heartbeats = listening?.counts().heartbeats ?? 0;
    return { atMs: performance.now(), cpuMs: (userUs + systemUs) / 1000, heartbeats };
  }
  async function obey(order: TakerOrder): Promise<TakerReport | Taken | undefined> {
    if (order === 'listen') {
      listening = listen(nc);
      await nc.flush();
    } else if (order === 'begin') {
      begun = usage();
    } else if (order === 'end' && begun) {
      const ended = usage();
      return {
        lastedMs: ended.atMs - begun.atMs,
        cpuMs: ended.cpuMs - begun.cpuMs,
        heartbeats: ended.heartbeats - begun.heartbeats,
        residentBytes: process.memoryUsage.rss(),
      };
    } else if (listening) {
      // What the server has sent is there when it has answered.
      await nc.flush();
      const taken = listening.counts();
      await listening.stop();
      return taken;
    }
    return undefined;
  }
  process.on('message', (order: TakerOrder) => {
    void obey(order).then((report) => process.send?.(report ?? 'done'));
  });
  process.once('disconnect', () => process.exit());
  process.send?.('ready');
}

await main(JSON.parse(process.argv[2] ?? '') as TakerSettings);
