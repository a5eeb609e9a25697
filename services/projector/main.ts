import { setTimeout as delay } from 'node:timers/promises';
import { openFactStore, readEpoch } from '@rollcall/shared/bus';
import { type Arrivals, consumeEvents, type Consumption, createArrivals } from '@rollcall/shared/decisions';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import { createKubeClient, type KubeClient, loadKubeAccess } from '@rollcall/shared/kubernetes';
import {
  readIdentity,
  rollcallVersion,
  type RunningService,
  runService,
  type ServiceContext,
  type ServiceWork,
} from '@rollcall/shared/service';
import type { ProjectorConfig } from './config.ts';
import { type Comparison, createComparison } from './queue/compare-everything.ts';
import { createDepartures, departureMayWaitMs } from './queue/departures.ts';
import { type FactsAsHeard, factsAsHeard } from './queue/facts-as-heard.ts';
import { giveHistory } from './history/give-history.ts';
import { ownSets } from './desired/own-sets.ts';
import { createProjection, type Projection, retryInMs } from './apply/projection.ts';
import { newestShown } from './apply/newest-shown-witness.ts';
import { isUnboundObject } from './apply/project-predefined.ts';
import {
  clusterKey,
  keyOfEvent,
  markForeignChanges,
  markWholeHistory,
  mayWaitMs,
  predefinedKey,
  setKey,
  operationsKey,
} from './apply/event-keys.ts';

export { configSchema } from './config.ts';

/** Facts are state, and what tells of them is a hint, which one replica hears. */
function followFacts({ nc }: ServiceContext, { queue }: Projection, facts: FactsAsHeard): void {
  nc.subscribe('rollcall.stored-facts.*', {
    queue: 'projector',
    callback: (error, message) => {
      if (error) return;
      const clusterId = message.subject.split('.')[2] ?? '';
      // What ends by itself says that those of a cluster that left are forgotten: there are none to wait for.
      const isEnd = message.headers?.has('Nats-TTL') ?? false;
      const sequence = Number(message.headers?.get('Nats-Sequence'));
      if (!isEnd && Number.isSafeInteger(sequence)) facts.heard(clusterId, sequence);
      queue.mark(clusterKey(clusterId), 'fact');
    },
  });
}

/** Hints of facts that came while the bus was away are lost: then everything is compared once more. */
async function followReconnects({ nc }: ServiceContext, comparison: Comparison): Promise<void> {
  for await (const { type } of nc.status())
    // It rejects only when the projector stops.
    if (type === 'reconnect') void comparison.run().catch(() => undefined);
}

/** What happens is followed, beginning with what happened meanwhile. */
async function follow(
  { nc, log, logger, metrics }: ServiceContext,
  { queue }: Projection,
  { joinDebounceMs, arrivals }: Pick<ProjectorConfig, 'joinDebounceMs'> & { readonly arrivals: Arrivals },
): Promise<Consumption> {
  if (!(await readEpoch(log)).isReviewed) {
    // What it shows of the epoch before is all that is left of it.
    throw new RollcallError(
      'RESTORE_UNREVIEWED',
      'the approver has not looked yet at what Kubernetes showed before',
    );
  }
  const departures = createDepartures();
  return consumeEvents(nc, {
    service: 'projector',
    logger,
    metrics,
    arrivals,
    // Bursts of one object are one write, so its events must not wait for one another.
    ordered: false,
    handle: async (event) => {
      const key = keyOfEvent(event);
      if (key === undefined) return;
      // Not awaited, or a mass of them would take all places of the consumer: a projector that stops before compares everything when
      // it starts.
      if (departures.note(event)) {
        const withinMs = departureMayWaitMs(event);
        return queue.mark(key, 'departure', { withinMs, atMs: event.timeMs });
      }
      await queue.project(key, { withinMs: mayWaitMs(event, joinDebounceMs), atMs: event.timeMs });
    },
  });
}

/** What Kubernetes shows is a witness of the history that no loss of the bus takes along: whoever keeps the other one is told. */
async function compareHistory(
  { nc, history, logger }: ServiceContext,
  { view }: Projection,
  epoch: number,
): Promise<void> {
  const shown = newestShown(view, epoch);
  if (!shown) return;
  history.remember(shown);
  await history.look().catch((thrown: unknown) => {
    nc.publish('rollcall.history.witnessed', JSON.stringify(shown));
    logger.error(
      { err: toRollcallError(thrown) },
      'Kubernetes shows an event that the history does not have',
    );
    throw thrown;
  });
}

async function markAll({ log }: ServiceContext, { view, queue }: Projection): Promise<number> {
  const count = await markWholeHistory(log, queue);
  // Also where nobody ever put a member out: a restored ConfigMap may show what is held no more.
  queue.mark(operationsKey, 'fact');
  for (const name of [...ownSets.keys(), ...view.sets.list().map(({ metadata }) => metadata.name)])
    queue.mark(setKey(name), 'count');
  for (const object of view.clusters.list()) {
    if (isUnboundObject(object)) queue.mark(predefinedKey(object.metadata.name), 'fact');
  }
  return count;
}

async function work(
  context: ServiceContext,
  client: KubeClient,
  config: ProjectorConfig & { readonly epoch: number },
): Promise<ServiceWork> {
  const ending = new AbortController();
  const { signal } = ending;
  const facts = factsAsHeard(openFactStore(context.nc), {
    again: (clusterId) => projection.queue.mark(clusterKey(clusterId), 'fact'),
    nowMs: Date.now,
  });
  const arrivals = createArrivals();
  const projection: Projection = createProjection(context, {
    client,
    facts,
    config,
    arrivals,
    signal,
  });
  const comparison = createComparison({
    markAll: () => markAll(context, projection),
    logger: context.logger,
    signal,
  });
  let consumption: Consumption | undefined;
  let problem = 'waiting for the API server';
  let isMarked = false;

  async function untilDone<Result>(what: () => Promise<Result>): Promise<Result> {
    for (let failures = 1; ; failures++) {
      try {
        return await what();
      } catch (thrown) {
        const err = toRollcallError(thrown);
        const delayMs = retryInMs(err, failures);
        problem = err.message;
        context.logger.warn({ err, delayMs }, 'projection cannot begin yet');
        await delay(delayMs, undefined, { signal });
      }
    }
  }

  async function begin(): Promise<void> {
    const { view, queue } = projection;
    await view.whenDeclaredSynced;
    followFacts(context, projection, facts);
    await view.whenSynced;
    // Before anything is shown: over an older history who has left would be shown again.
    await untilDone(() => compareHistory(context, projection, config.epoch));
    consumption = await untilDone(() => follow(context, projection, { ...config, arrivals }));
    markForeignChanges(view, queue);
    void followReconnects(context, comparison);
    await comparison.run();
    isMarked = true;
  }
  // Nothing else is thrown: it ends by the signal.
  const begun = begin().catch(() => undefined);
  const history = giveHistory(context.nc, context.logger);
  const { metrics } = context;
  return {
    stats: () => ({
      queued: metrics.value('rollcall_projector_queued'),
      isMarked: isMarked ? 1 : 0,
      comparisonFailures: comparison.failures(),
      lagSeconds: projection.lagSeconds(),
      waitingRequests: projection.waiting.count(),
      oldestWaitingSeconds: projection.waiting.oldestAgeSeconds(Date.now()),
      kubernetesWrites: metrics.value('rollcall_kubernetes_writes_total'),
      budgetWaiting: projection.budget.waiting(),
      isExceptionsOnly: config.projection === 'exceptions' ? 1 : 0,
      deadLetters: metrics.value('rollcall_dead_letters_total'),
    }),
    notReady: () => (consumption ? undefined : problem),
    degraded() {
      const why = comparison.problem();
      return why === undefined ? undefined : `not everything is compared with the history: ${why}`;
    },
    async drain() {
      ending.abort(new Error('stopping'));
      projection.budget.close();
      facts.stop();
      await begun;
      const drained = consumption?.drain();
      await projection.queue.stop();
      await drained;
      await projection.view.whenEnded;
      await history.drain();
      client.close();
    },
  };
}

/**
 * Starts the projector. It starts without an API server too: then it is not ready, and catches up once there is one.
 * @throws RollcallError CONFIG_INVALID, KUBECONFIG_INVALID, KUBE_CONTEXT_UNKNOWN, BUS_UNREACHABLE, BUS_UNSAFE
 */
export function start(config: ProjectorConfig, waitsUntil?: AbortSignal): Promise<RunningService> {
  const identity = readIdentity(config.identityFile, {});
  const access = loadKubeAccess({ path: config.kubeconfig, context: config.kubeContext });
  const client = createKubeClient(access, {
    fieldManager: 'rollcall-projector',
    userAgent: `rollcall-projector/${rollcallVersion}`,
  });
  return runService({
    name: 'projector',
    description: 'shows in Kubernetes what the events say',
    config,
    identity,
    waitsUntil,
    work: (context) => work(context, client, { ...config, epoch: identity.epoch }),
  });
}
