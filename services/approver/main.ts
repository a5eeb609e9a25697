import { setTimeout as delay } from 'node:timers/promises';
import { toRollcallError } from '@rollcall/shared/errors';
import { createKubeClient, type KubeClient, loadKubeAccess } from '@rollcall/shared/kubernetes';
import {
  readIdentity,
  rollcallVersion,
  type RunningService,
  runService,
  type ServiceContext,
  type ServiceWork,
} from '@rollcall/shared/service';
import type { ApproverConfig } from './config.ts';
import { hubEpochOf } from './declarations/token-epoch.ts';
import { reviewRestored } from './restore/review-restored.ts';
import { type Clients, type Deciding, heartbeatOf, startDeciding } from './start-deciding.ts';

export { configSchema } from './config.ts';
export { whyAdmissionIsMissing } from './admission/probe.ts';

const clientOptions = {
  fieldManager: 'rollcall-approver',
  userAgent: `rollcall-approver/${rollcallVersion}`,
};

const openClient = (path: string | undefined, context: string | undefined): KubeClient =>
  createKubeClient(loadKubeAccess({ path, context }), clientOptions);

function openClients(config: ApproverConfig): Clients {
  const { admissionProbeKubeconfig: path, admissionProbeContext: context } = config;
  return {
    client: openClient(config.kubeconfig, config.kubeContext),
    probeClient: path === undefined ? undefined : openClient(path, context),
  };
}

const firstWaitMs = 500;
const longestWaitMs = 30_000;

async function work(context: ServiceContext, config: ApproverConfig): Promise<ServiceWork> {
  const { log, logger, metrics } = context;
  const ending = new AbortController();
  const { signal } = ending;
  const clients = openClients(config);
  let deciding: Deciding | undefined;
  let problem = 'starting';

  /** Before anything is decided, or heard of people, a restored hub looks at what Kubernetes shows. */
  async function begin(failures: number): Promise<void> {
    try {
      const review = { log, client: clients.client, logger, heartbeat: heartbeatOf(config), nowMs: Date.now };
      const hubEpoch = hubEpochOf(await reviewRestored(review));
      if (!signal.aborted) deciding = await startDeciding(context, config, { ...clients, hubEpoch });
    } catch (thrown) {
      const err = toRollcallError(thrown);
      const delayMs = Math.random() * Math.min(firstWaitMs * 2 ** failures, longestWaitMs);
      problem = `nothing is decided yet: ${err.message}`;
      logger.warn({ err, delayMs }, 'nothing is decided yet');
      await delay(delayMs, undefined, { signal }).catch(() => undefined);
    }
  }
  async function beginAgain(): Promise<void> {
    for (let failures = 1; !deciding && !signal.aborted; failures++) await begin(failures);
  }
  // Once while it starts: a hub that is not being restored has nothing to wait for.
  await begin(0);
  const begun = beginAgain();
  return {
    stats: () => ({
      endlessTokens: config.allowEndlessTokens ? 1 : 0,
      admissionOk: metrics.value('rollcall_admission_ok'),
      unproven: deciding?.unprovenCount() ?? 0,
      approved: metrics.value('rollcall_events_written_total', { type: 'cluster.approved' }),
      held: metrics.value('rollcall_events_written_total', { type: 'cluster.held' }),
      denied: metrics.value('rollcall_events_written_total', { type: 'cluster.denied' }),
      policyTimeouts: metrics.value('rollcall_policy_evaluations_total', { outcome: 'timeout' }),
      deadLetters: metrics.value('rollcall_dead_letters_total'),
    }),
    // Without Kubernetes only the projection and the keyboard are away: decisions go on, so it is no reason to be unready. Only after
    // a restore nothing may be decided before it was looked at.
    notReady: () => (deciding ? deciding.notReady() : problem),
    degraded: () => deciding?.notHeard(),
    async drain() {
      ending.abort(new Error('stopping'));
      await begun;
      await deciding?.drain();
      clients.client.close();
      clients.probeClient?.close();
    },
  };
}

/** Starts the approver: it decides about requests, by policy or because a person asked in Kubernetes. */
export function start(config: ApproverConfig, waitsUntil?: AbortSignal): Promise<RunningService> {
  return runService({
    name: 'approver',
    description: 'decides which clusters may join',
    config,
    identity: readIdentity(config.identityFile, {}),
    waitsUntil,
    work: (context) => work(context, config),
  });
}
