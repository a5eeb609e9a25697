import type { NatsConnection } from '@nats-io/transport-node';
import {
  type BusCredentials,
  connectBus,
  type EventLog,
  openEventLog,
  shareReads,
} from '@rollcall/shared/bus';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import type { ServiceName } from '@rollcall/shared/rights';
import { beginOnceWhole } from './start-once-history-whole.ts';
import { checkStreams, untilBusIsThere } from './bus/await-bus.ts';
import { busAddress } from './bus/bus-address.ts';
import { checkBusSafety } from './bus/bus-safety.ts';
import { watchBus } from './bus/bus-watch.ts';
import { countAppends } from './metrics/count-appends.ts';
import { followIdentity } from './follow-identity.ts';
import { followUser } from './bus/follow-user.ts';
import { guardLog } from './refuse-while-history-lost.ts';
import { serveHealth } from './health-endpoints.ts';
import { createLogger, type Logger } from './log.ts';
import { createMetrics, type MetricsRegistry } from './metrics/metrics.ts';
import { serveMicro, type MicroEndpoint } from './micro.ts';
import { measureProcess } from './metrics/process-metrics.ts';
import { rollcallVersion } from './version.ts';
import { type HistoryWatch, isHistoryWhole, watchHistory } from './watch-history.ts';
import { within } from './wait-at-most.ts';

/** How long running work and unsent messages are waited for; Kubernetes gives 30 s in all. */
const drainDeadlineMs = 10_000;
/** The same while the bus is away: nothing can be said any more. */
const awayDeadlineMs = 1000;

/** What a service is given to work with. */
export interface ServiceContext {
  readonly nc: NatsConnection;
  readonly log: EventLog;
  readonly history: Pick<HistoryWatch, 'look' | 'remember'>;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
  /** Another connection as the same user, for what must not wait behind the rest; it ends with the first one at the latest. */
  connectAgain(): Promise<NatsConnection>;
  /**
   * A connection as another user of this service. A bus that is away for a moment is waited for as at the start, and the connection
   * ends with the first one at the latest: while the bus is away a drain never ends, and it would try to connect for ever.
   */
  connectAs(user: BusCredentials | (() => BusCredentials), name: string): Promise<NatsConnection>;
}

/** What a service gives back once it works. */
export interface ServiceWork {
  /** Why it is not ready now, or undefined. */
  notReady?(): string | undefined;
  /** What it has to do without, or undefined: it works, and somebody should look. */
  degraded?(): string | undefined;
  /** Its few most telling figures, for `$SRV.STATS`: names in camelCase, with units; never one a cluster. */
  stats?(): Readonly<Record<string, number>>;
  /** What people may ask it beside that, on subjects of its own. */
  readonly endpoints?: readonly MicroEndpoint[];
  /** Takes no more work, finishes what runs, and returns. */
  drain(): Promise<void>;
}

export interface ServiceOptions {
  readonly name: ServiceName;
  readonly description: string;
  readonly config: {
    readonly busServers: readonly string[];
    readonly busCaFile: string;
    readonly identityFile: string;
    readonly logLevel: string;
    readonly logFile?: string | undefined;
    readonly healthPort?: number | undefined;
    readonly healthAddress: string;
    readonly allowUnsafeBus: boolean;
  };
  readonly identity: {
    readonly epoch: number;
    readonly bus: { readonly jwt: string; readonly seed: string };
  };
  /** Of its configuration, what people plan by; told with its figures, so nothing secret. */
  readonly told?: Readonly<Record<string, string>>;
  /** Until when a bus is waited for that is not there, or has no streams yet. Without it the start fails then. */
  readonly waitsUntil?: AbortSignal | undefined;
  work(context: ServiceContext): Promise<ServiceWork>;
}

export interface RunningService {
  readonly name: ServiceName;
  readonly healthPort: number | undefined;
  notReady(): string | undefined;
  /** What it has to do without, or undefined. */
  degraded(): string | undefined;
  /** Rejects when it cannot go on, with what it has begun still there: whoever runs it ends the process, to start it again. */
  readonly failed: Promise<never>;
  /** Drains, then closes the connection. Idempotent. */
  stop(): Promise<void>;
}

/** Keys of another hub are refused as any wrong ones are; only who reads of which hub they are sees it. */
function ofHub(thrown: unknown, hubId: string): unknown {
  if (!(thrown instanceof RollcallError) || thrown.code !== 'BUS_REFUSED') return thrown;
  const message = `${thrown.message}; this service has keys of hub ${hubId}`;
  return new RollcallError(thrown.code, message, { cause: thrown });
}

/**
 * How every service runs: answer for its health, connect, check the bus, work, drain, stop. It may start before what it needs: it
 * is alive then, not ready, and says what it waits for.
 * @throws RollcallError CONFIG_INVALID, BUS_UNREACHABLE, BUS_REFUSED, BUS_UNSAFE, PORT_BUSY, and whatever the service's own start throws
 */
export async function runService(options: ServiceOptions): Promise<RunningService> {
  const { name, config, identity } = options;
  const logger = createLogger({
    service: name,
    level: config.logLevel,
    ...(config.logFile === undefined ? {} : { file: config.logFile }),
  });
  const metrics = createMetrics(name);
  metrics.gauge('rollcall_build', 1, { service: name, version: rollcallVersion });
  const user = followIdentity(config.identityFile, {});
  const currentUser = () => user.current().bus;
  const changeUser: (() => void)[] = [];
  let nc: NatsConnection | undefined;
  let bus: ReturnType<typeof watchBus> | undefined;
  let history: HistoryWatch | undefined;
  let missing = 'starting';
  let missingWork = 'starting';
  const { promise: failed, reject: fail } = Promise.withResolvers<never>();
  failed.catch(() => undefined);
  let work: ServiceWork | undefined;
  const ending = new AbortController();
  /** Of a service that was started over a history that is lost: it works once that is whole again. */
  let beginning: Promise<void> = Promise.resolve();
  let stopping: Promise<void> | undefined;
  const notReady = () => {
    if (stopping) return 'stopping';
    if (!bus) return missing;
    if (!bus.isConnected()) return 'not connected to the bus';
    const lost = history?.lost();
    if (lost !== undefined) return `HISTORY_LOST: ${lost}`;
    return work ? work.notReady?.() : missingWork;
  };
  const readyNow = () => (notReady() === undefined ? 1 : 0);
  metrics.beforeScrape(() => metrics.gauge('rollcall_ready', readyNow()));
  let stopMeasuring: (() => void) | undefined;
  let health: Awaited<ReturnType<typeof serveHealth>> | undefined;
  /** Whatever fails, the connection and the port are given back; a bus that is away cannot keep a service from stopping. */
  const close = async () => {
    ending.abort(new Error('stopping'));
    try {
      await beginning;
      await within(bus?.isConnected() ? drainDeadlineMs : awayDeadlineMs, work?.drain());
    } catch (error) {
      // Asked again: it may have gone away in the middle.
      if (bus?.isConnected()) throw error;
      logger.warn({ err: toRollcallError(error) }, 'stopped without the bus');
    } finally {
      stopMeasuring?.();
      history?.stop();
      user.stop();
      health?.server.close();
      health?.server.closeAllConnections();
      if (bus?.isConnected()) await within(drainDeadlineMs, nc?.drain()).catch(() => undefined);
      await nc?.close();
    }
  };
  /** A connection to a bus that one can stand on. */
  async function connect(): Promise<NatsConnection> {
    const first = await connectBus(busAddress(config), currentUser, name).catch((thrown: unknown) => {
      throw ofHub(thrown, user.current().hubId);
    });
    try {
      if (!config.allowUnsafeBus) await checkBusSafety(first);
      await checkStreams(first, name);
      return first;
    } catch (error) {
      await first.close();
      throw error;
    }
  }
  try {
    if (config.healthPort !== undefined) {
      stopMeasuring = measureProcess(metrics);
      const { healthPort: port, healthAddress: address } = config;
      health = await serveHealth({
        port,
        address,
        notReady,
        degraded: () => work?.degraded?.(),
        metrics: () => metrics.render(),
      });
    }
    const waiting = {
      until: options.waitsUntil,
      onMissing(why: RollcallError) {
        const now = `waiting for the bus: ${why.message}`;
        if (now !== missing) logger.warn({ err: why }, 'waiting for the bus');
        missing = now;
      },
    };
    const main = await untilBusIsThere(connect, waiting);
    nc = main;
    bus = watchBus(main, logger, metrics);
    changeUser.push(followUser(main, currentUser, logger));
    const connectAs: ServiceContext['connectAs'] = async (as, named) => {
      const another = await untilBusIsThere(() => connectBus(busAddress(config), as, named), waiting);
      void main.closed().then(() => another.close());
      return another;
    };
    const connectAgain = async () => {
      const another = await connectAs(currentUser, name);
      changeUser.push(followUser(another, currentUser, logger));
      return another;
    };
    const { epoch } = identity;
    const watched = (history = watchHistory(main, { epoch, logger }));
    const stream = shareReads(
      guardLog(await openEventLog(main, { epoch, latestEpoch: epoch, source: `/rollcall/${name}` }), watched),
    );
    // The projector writes no event, and so has nothing to count.
    const log = name === 'projector' ? stream : countAppends(stream, metrics);
    const begin = async () => {
      const means = { nc: main, log, history: watched, logger, metrics, connectAgain, connectAs };
      work = await options.work(means);
    };
    user.follow(logger, () => {
      for (const change of changeUser) change();
    });
    const isWhole = await untilBusIsThere(() => isHistoryWhole(watched), waiting);
    if (isWhole) await begin();
    else
      beginning = beginOnceWhole(watched, begin, {
        stopped: ending.signal,
        failed(err) {
          logger.error({ err }, 'the service could not begin');
          missingWork = `it could not begin: ${err.message}`;
          fail(err);
        },
      });
    serveMicro(main, {
      name,
      version: rollcallVersion,
      description: options.description,
      metadata: { ...options.told, epoch: String(identity.epoch) },
      endpoints: () => work?.endpoints ?? [],
      stats: () => ({
        ...work?.stats?.(),
        ready: readyNow(),
        historyLost: watched.lost() === undefined ? 0 : 1,
        rssBytes: process.memoryUsage.rss(),
      }),
    });
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
  logger.info(health ? { port: health.port } : {}, 'service started');
  return {
    name,
    healthPort: health?.port,
    notReady,
    degraded: () => work?.degraded?.(),
    failed,
    stop: () => (stopping ??= close().finally(() => logger.info({}, 'service stopped'))),
  };
}
