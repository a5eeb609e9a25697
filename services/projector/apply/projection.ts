import type { FactStore } from '@rollcall/shared/bus';
import { type Arrivals, yielding } from '@rollcall/shared/decisions';
import { toRollcallError } from '@rollcall/shared/errors';
import type { HubApi } from '@rollcall/shared/hub';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import type { ServiceContext } from '@rollcall/shared/service';
import type { ProjectorConfig } from '../config.ts';
import { createWorkQueue, type WorkQueue } from '../queue/work-queue.ts';
import { type KubeView, watchOurKinds } from './kube-view.ts';
import { createClusterProjection } from './project-cluster.ts';
import { createDeclaredProjection } from './project-declared.ts';
import { createPredefinedProjection } from './project-predefined.ts';
import { createOperationsProjection } from './project-operations.ts';
import { createProfileProjection } from './project-profiles.ts';
import { markProfiles } from './mark-profiles.ts';
import { createMinimumInterval } from '../queue/minimum-interval.ts';
import { createUnknownAuthors } from './unknown-authors.ts';
import { createWaitingRequests, type WaitingRequests } from './waiting-requests.ts';
import { clusterKey } from './event-keys.ts';
import { createWriteBudget, type WriteBudget } from './write-budget.ts';
import { createObjectWriter } from './write-object.ts';

/** Passes at the same time: enough to keep the API server busy, and no more than it serves well (facts: 8 to 32). */
const concurrency = 16;
/**
 * Looks at clusters that leave while others join; of each there are two or three. Each status wakes whoever watches: what happens while it
 * waits is in it as well.
 */
const departures = { perSecond: 1, burst: 10 } as const;
/** A member that reports a changed figure every few seconds costs one write in this time. */
const factIntervalMs = 10_000;
/** Where only exceptions are shown, a join that takes this long is one. */
const unseenJoinMs = 5000;
const retry = { firstMs: 100, retryableMs: 5000, permanentMs: 60_000 } as const;

/** @param failures - 1 after the first in a row */
export function retryInMs(error: unknown, failures: number): number {
  const { retry: mayHelp, retryAfterMs = 0 } = toRollcallError(error);
  const most = mayHelp ? retry.retryableMs : retry.permanentMs;
  return Math.max(retryAfterMs, Math.min(retry.firstMs * 2 ** Math.min(failures - 1, 16), most));
}

/** Everything between the events and the API server, in one process. */
export interface Projection {
  readonly view: KubeView;
  readonly queue: WorkQueue;
  readonly budget: WriteBudget;
  readonly waiting: WaitingRequests;
  /** How old the oldest event is that is not shown yet, in seconds; 0: everything is. */
  lagSeconds(): number;
}

export interface ProjectionParts {
  readonly client: KubeClient;
  readonly facts: Pick<FactStore, 'get'>;
  readonly config: Pick<
    ProjectorConfig,
    'debounceMs' | 'joinDebounceMs' | 'writesPerSecond' | 'expiredTokenKept' | 'projection' | 'calmFor'
  >;
  /** By which way others get to members. */
  readonly hubApi: HubApi | undefined;
  /** While clusters join, those that leave are shown slowly. */
  readonly arrivals: Pick<Arrivals, 'areUnderWay'>;
  /** Ends the watches. */
  readonly signal: AbortSignal;
}

/** Wires the view, the writer and what projects each kind. Nothing is projected before something is marked. */
export function createProjection(
  context: Pick<ServiceContext, 'log' | 'logger' | 'metrics'>,
  parts: ProjectionParts,
): Projection {
  const { log, logger, metrics: figures } = context;
  const { client, facts, config, signal } = parts;
  const isExceptionsOnly = config.projection === 'exceptions';
  const joiningMs = isExceptionsOnly ? Math.max(config.joinDebounceMs, unseenJoinMs) : config.joinDebounceMs;
  const budget = createWriteBudget(config.writesPerSecond);
  const waiting = createWaitingRequests();
  figures.gauge('rollcall_projector_budget_writes_per_second', config.writesPerSecond);
  figures.beforeScrape(() => {
    figures.gauge('rollcall_projector_budget_waiting', budget.waiting());
    figures.gauge('rollcall_projector_lag_seconds', lagSeconds());
    waiting.report(figures, Date.now());
  });
  const writer = createObjectWriter(client, { budget, metrics: figures });
  const view: KubeView = watchOurKinds(client, {
    signal,
    onSynced: () => queue.retryFailed(),
    onError: (resource, error) =>
      logger.warn({ err: toRollcallError(error), object: resource.plural }, 'watch interrupted'),
  });
  const unknownAuthors = createUnknownAuthors({ log, view, queue: () => queue });
  const cluster = createClusterProjection({
    log,
    facts,
    view,
    writer,
    logger,
    metrics: figures,
    waiting,
    unknownAuthors,
    factInterval: createMinimumInterval({ firstAfterMs: 1000, intervalMs: factIntervalMs }),
    nowMs: Date.now,
    debounceMs: { undecided: config.debounceMs, joining: joiningMs },
    exceptionsOnly: isExceptionsOnly ? { calmForMs: config.calmFor } : undefined,
    mark: (clusterId) => queue.mark(clusterKey(clusterId)),
  });
  const declared = createDeclaredProjection({
    log,
    view,
    writer,
    nowMs: Date.now,
    unknownAuthors,
    isExceptionsOnly,
    expiredTokenKeptMs: config.expiredTokenKept,
    mark: (clusterId) => queue.mark(clusterKey(clusterId), 'fact'),
  });
  const predefined = createPredefinedProjection({ log, view, writer, nowMs: Date.now, unknownAuthors });
  const { hubApi } = parts;
  const profiles = createProfileProjection({ view, writer, hubApi, nowMs: Date.now, isExceptionsOnly });
  const operations = createOperationsProjection({ log, client, writer, nowMs: Date.now });
  const passes = {
    cluster,
    predefined,
    token: declared.token,
    policy: declared.policy,
    set: declared.set,
    profile: profiles.cluster,
    binding: profiles.binding,
    operations,
    admission: unknownAuthors.pass,
  };
  const mustYield = () => parts.arrivals.areUnderWay();
  const queue: WorkQueue = createWorkQueue({
    concurrency,
    retryInMs,
    departureInTurn: yielding({ ...departures, atOnce: concurrency, mustYield }),
    pass: async (key) => {
      const [kind = '', ...id] = key.split('/');
      return passes[kind as keyof typeof passes](id.join('/'));
    },
    onSize: (size) => figures.gauge('rollcall_projector_queued', size),
    onError: (key, error, delayMs) =>
      logger.warn({ err: toRollcallError(error), object: key, delayMs }, 'projection failed'),
  });
  // Nothing is thrown: the signal may end it before.
  void view.whenInventorySynced.then(
    () => markProfiles(view, queue),
    () => undefined,
  );
  function lagSeconds(): number {
    const nowMs = Date.now();
    return Math.max(0, nowMs - (queue.oldestMs() ?? nowMs)) / 1000;
  }
  return { view, queue, budget, waiting, lagSeconds };
}
