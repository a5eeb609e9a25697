import { setTimeout as delay } from 'node:timers/promises';
import { openFactStore } from '@rollcall/shared/bus';
import { consumeEvents, type Consumption } from '@rollcall/shared/decisions';
import { toRollcallError } from '@rollcall/shared/errors';
import { createKubeClient, type KubeClient, loadKubeAccess } from '@rollcall/shared/kubernetes';
import { readIdentity, rollcallVersion, type RunningService, runService, type ServiceContext, type ServiceWork } from '@rollcall/shared/service';
import type { ProjectorConfig } from './config.ts';
import { ensureDefaultSet } from './default-set.ts';
import { createDirtyObjects, type DirtyObjects } from './dirty-objects.ts';
import { type KubeView, watchOurKinds } from './kube-view.ts';
import { clusterKey, keyOfEvent, markForeignChanges, markWholeHistory, setKey } from './what-is-dirty.ts';
import { createClusterProjection } from './project-cluster.ts';
import { createDeclaredProjection } from './project-declared.ts';
import { createThrottle } from './throttle.ts';
import { createWriteBudget } from './write-budget.ts';
import { createObjectWriter } from './write-object.ts';

export { configSchema } from './config.ts';

const metrics = {
  rollcall_projector_writes_total: 'writes to the API server, by kind and what was written',
  rollcall_projector_lag_seconds: 'time from the newest event to its picture, at the last status written',
  rollcall_projector_dirty: 'objects whose picture may be old, those that wait on purpose included',
  rollcall_projector_older_refused_total: 'statuses that the API server refused because it shows a later event',
  rollcall_projector_behind_witness: 'clusters of which the API server shows a later event than the stream has',
} as const;

/** Passes at the same time: enough to keep the API server busy, and no more than it serves well (facts: 8 to 32). */
const concurrency = 16;
/** A member that reports a changed figure every few seconds costs one write in this time. */
const factIntervalMs = 10_000;
const retry = { firstMs: 100, retryableMs: 5000, permanentMs: 60_000 } as const;

function retryInMs(error: unknown, failures: number): number {
  const most = toRollcallError(error).retry ? retry.retryableMs : retry.permanentMs;
  return Math.min(retry.firstMs * 2 ** Math.min(failures - 1, 16), most);
}

function createProjection(context: ServiceContext, client: KubeClient, config: ProjectorConfig, facts: Awaited<ReturnType<typeof openFactStore>>, signal: AbortSignal) {
  const { log, logger, metrics: figures } = context;
  const budget = createWriteBudget(config.writesPerSecond);
  const writer = createObjectWriter(client, { budget, metrics: figures });
  const view: KubeView = watchOurKinds(client, {
    signal,
    onSynced: () => dirty.retryFailed(),
    onError: (resource, error) => logger.warn({ err: toRollcallError(error), object: resource.plural }, 'watch interrupted'),
  });
  const cluster = createClusterProjection({
    log,
    facts,
    view,
    writer,
    logger,
    metrics: figures,
    factThrottle: createThrottle({ firstAfterMs: 1000, intervalMs: factIntervalMs }),
    nowMs: Date.now,
    settleMs: { undecided: config.settleMs, joining: config.joinSettleMs },
    mark: (clusterId) => dirty.mark(clusterKey(clusterId)),
  });
  const declared = createDeclaredProjection({ log, view, writer, nowMs: Date.now });
  const passes = { cluster, token: declared.token, policy: declared.policy, set: declared.set };
  const dirty: DirtyObjects = createDirtyObjects({
    concurrency,
    retryInMs,
    pass: async (key) => {
      const [kind = '', id = ''] = key.split('/');
      figures.gauge('rollcall_projector_dirty', dirty.size());
      return passes[kind as keyof typeof passes](id);
    },
    onError: (key, error, delayMs) => logger.warn({ err: toRollcallError(error), object: key, delayMs }, 'projection failed'),
  });
  return { view, dirty, budget };
}

/** Once the API server was listed: everything is compared, and then what happens is followed. */
async function follow(context: ServiceContext, client: KubeClient, parts: { view: KubeView; dirty: DirtyObjects }): Promise<Consumption> {
  const { nc, log, logger } = context;
  const { view, dirty } = parts;
  await view.whenSynced;
  await ensureDefaultSet(client, logger);
  markForeignChanges(view, dirty);
  const count = await markWholeHistory(log, dirty, logger);
  for (const { metadata } of view.sets.list()) dirty.mark(setKey(metadata.name), 'background');
  logger.info({ count }, 'comparing everything');
  // One replica hears each: facts are state, so a lost hint only means that they are shown with the next event.
  nc.subscribe('rollcall.facts.*', {
    queue: 'projector',
    callback: (error, message) => {
      if (!error) dirty.mark(clusterKey(message.subject.split('.')[2] ?? ''), 'background');
    },
  });
  return consumeEvents(nc, {
    service: 'projector',
    logger,
    // Bursts of one object are one write, so its events must not wait for one another.
    ordered: false,
    handle: async (event) => {
      const key = keyOfEvent(event);
      if (key !== undefined) await dirty.project(key);
    },
  });
}

async function work(context: ServiceContext, client: KubeClient, config: ProjectorConfig): Promise<ServiceWork> {
  const ending = new AbortController();
  const facts = await openFactStore(context.nc);
  const parts = createProjection(context, client, config, facts, ending.signal);
  let consumption: Consumption | undefined;
  let failure: unknown;
  const following = (async () => {
    for (let failures = 1; !ending.signal.aborted; failures++) {
      try {
        consumption = await follow(context, client, parts);
        failure = undefined;
        return;
      } catch (error) {
        if (ending.signal.aborted) return;
        failure = error;
        const delayMs = retryInMs(error, failures);
        context.logger.warn({ err: toRollcallError(error), delayMs }, 'projection cannot begin yet');
        await delay(delayMs, undefined, { signal: ending.signal }).catch(() => undefined);
      }
    }
  })();
  return {
    notReady: () => {
      if (consumption) return undefined;
      return failure === undefined ? 'waiting for the API server' : toRollcallError(failure).message;
    },
    async drain() {
      ending.abort(new Error('stopping'));
      parts.budget.close();
      await following;
      const drained = consumption?.drain();
      await parts.dirty.stop();
      await drained;
      await parts.view.whenEnded;
      client.close();
    },
  };
}

/**
 * Starts the projector. It starts without an API server too: then it is not ready, and catches up once there is one.
 * @throws RollcallError CONFIG_INVALID, KUBECONFIG_INVALID, KUBE_CONTEXT_UNKNOWN, BUS_UNREACHABLE, BUS_UNSAFE
 */
export function start(config: ProjectorConfig): Promise<RunningService> {
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
    metrics,
    work: (context) => work(context, client, config),
  });
}
