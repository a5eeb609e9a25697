import { openFactStore } from '@rollcall/shared/bus';
import { createArrivals } from '@rollcall/shared/decisions';
import { type HubApi, hubApiOf } from '@rollcall/shared/hub';
import { createKubeClient, type KubeClient, loadKubeAccess } from '@rollcall/shared/kubernetes';
import {
  readIdentity,
  rollcallVersion,
  type RunningService,
  runService,
  type ServiceContext,
  type ServiceWork,
} from '@rollcall/shared/service';
import { createProjection } from './apply/projection.ts';
import type { ProjectorConfig } from './config.ts';
import { beginProjection } from './follow/begin-projection.ts';
import { markEverything } from './follow/mark-everything.ts';
import { giveHistory } from './history/give-history.ts';
import { createComparison } from './queue/compare-everything.ts';
import { factsAsHeard } from './queue/facts-after-hint.ts';

export { configSchema } from './config.ts';

async function work(
  context: ServiceContext,
  client: KubeClient,
  config: ProjectorConfig & { readonly epoch: number; readonly hubApi: HubApi | undefined },
): Promise<ServiceWork> {
  const { nc, logger, metrics } = context;
  const ending = new AbortController();
  const { signal } = ending;
  const facts = factsAsHeard(openFactStore(nc), { nowMs: () => performance.now() });
  const arrivals = createArrivals();
  const projection = createProjection(context, {
    client,
    facts,
    config,
    hubApi: config.hubApi,
    arrivals,
    signal,
  });
  const comparison = createComparison({
    markAll: () => markEverything(context, projection),
    logger,
    signal,
  });
  const begun = beginProjection(context, { projection, comparison, facts, arrivals, config, signal });
  const history = giveHistory(nc, logger);
  return {
    stats: () => ({
      queued: metrics.value('rollcall_projector_queued'),
      isMarked: begun.isMarked() ? 1 : 0,
      comparisonFailures: comparison.failures(),
      lagSeconds: projection.lagSeconds(),
      waitingRequests: projection.waiting.count(),
      oldestWaitingSeconds: projection.waiting.oldestAgeSeconds(Date.now()),
      kubernetesWrites: metrics.value('rollcall_kubernetes_writes_total'),
      budgetWaiting: projection.budget.waiting(),
      isExceptionsOnly: config.projection === 'exceptions' ? 1 : 0,
      deadLetters: metrics.value('rollcall_dead_letters_total'),
    }),
    notReady: begun.notReady,
    degraded() {
      const why = comparison.problem();
      return why === undefined ? undefined : `not everything is compared with the history: ${why}`;
    },
    async drain() {
      ending.abort(new Error('stopping'));
      projection.budget.close();
      facts.stop();
      await begun.drain();
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
  const hubApi = config.memberGateway ? hubApiOf(config, access) : undefined;
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
    work: (context) => work(context, client, { ...config, epoch: identity.epoch, hubApi }),
  });
}
