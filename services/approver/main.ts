import { setTimeout as delay } from 'node:timers/promises';
import type { Trace } from '@rollcall/shared/bus';
import { consumeEvents, createArrivals } from '@rollcall/shared/decisions';
import { toRollcallError } from '@rollcall/shared/errors';
import type { StoredEvent, BulkChanges } from '@rollcall/shared/events';
import { admissionPolicyNames } from '@rollcall/shared/admission';
import { createKubeClient, type KubeClient, loadKubeAccess } from '@rollcall/shared/kubernetes';
import {
  readIdentity,
  rollcallVersion,
  type RunningService,
  runService,
  type ServiceContext,
  type ServiceWork,
} from '@rollcall/shared/service';
import type { Heartbeat } from './decision/decision-section.ts';
import type { ApproverConfig } from './config.ts';
import { countEvaluations } from './policy/count-evaluations.ts';
import { collectUnproven } from './people/collect-unproven.ts';
import { startAdmissionProbe } from './admission/probe.ts';
import { whileInPlace } from './admission/while-in-place.ts';
import { everyMinute } from './requests/every-minute.ts';
import { createFleetView } from './fleet/fleet-view.ts';
import { handleFlooding } from './bulk/handle-flooding.ts';
import { followEverything, peoplesKinds } from './people/follow-everything.ts';
import {
  judgeAsTimePasses,
  judgeHeldOfToken,
  judgeHeldRequests,
  judgeRequest,
  leavesRequestOpen,
  type JudgeParts,
} from './requests/judge-requests.ts';
import { followUpLeaveRequest } from './decision/leaving.ts';
import { createPolicyEvaluator } from './policy/policy-evaluator.ts';
import { reviewRestored } from './restore/review-restored.ts';
import { mayEndInRevoked, releaseName, followUpRevocation, followUpRotation } from './decision/follow-ups.ts';
import { type HubEpoch, hubEpochOf } from './declarations/token-epoch.ts';

export { configSchema } from './config.ts';
export { whyAdmissionIsMissing } from './admission/probe.ts';

const clientOptions = {
  fieldManager: 'rollcall-approver',
  userAgent: `rollcall-approver/${rollcallVersion}`,
};

/** What wakes the approver; what follows is in the record. */
export async function handleEvent(parts: JudgeParts, event: StoredEvent): Promise<void> {
  const { correlation, traceparent } = event;
  const trace = { correlation, traceparent };
  switch (`${event.kind}.${event.type}`) {
    case 'cluster.requested':
      return judgeRequest(parts, event.id, trace);
    case 'cluster.rotated':
      return followUpRotation(parts.log, event.id, { nowMs: parts.nowMs, trace });
    case 'cluster.leave-requested':
      return followUpLeaveRequest(parts, event.id, trace);
    case 'cluster.left':
      return releaseName(parts.log, event, trace);
    case 'policy.declared':
    case 'policy.withdrawn':
      return judgeHeldRequests(parts);
    case 'token.declared':
    case 'token.withdrawn':
      return judgeHeldOfToken(parts, event.id);
    case 'hub.bulk-confirmed':
    case 'token.published':
      // Both are acted on in `work`; nothing of a cluster follows from them here.
      return;
    default:
      if (leavesRequestOpen(event)) return judgeRequest(parts, event.id, trace);
      if (mayEndInRevoked(event)) await followUpRevocation(parts.log, event.id, trace);
  }
}

const traceOf = ({ correlation, traceparent }: StoredEvent): Trace => ({ correlation, traceparent });

/** Clusters that an event says may flood the hub; whether they do, and nobody has decided since, is in their records. */
function maybeFlooding({ kind, type, id, section }: StoredEvent): readonly string[] {
  if (kind === 'cluster') return type === 'flooding' || type === 'flooded' ? [id] : [];
  if (type !== 'bulk-confirmed') return [];
  return ((section as BulkChanges).confirmed?.operations ?? []).map(({ clusterId }) => clusterId);
}

interface Clients {
  readonly client: KubeClient;
  /** Of somebody who has no right to decide: what the admission policies refuse it shows that the admission policies are in place. */
  readonly probeClient: KubeClient | undefined;
}

const openClient = (path: string | undefined, context: string | undefined): KubeClient =>
  createKubeClient(loadKubeAccess({ path, context }), clientOptions);

function openClients(config: ApproverConfig): Clients {
  const { admissionProbeKubeconfig: path, admissionProbeContext: context } = config;
  return {
    client: openClient(config.kubeconfig, config.kubeContext),
    probeClient: path === undefined ? undefined : openClient(path, context),
  };
}

function heartbeatOf(config: ApproverConfig): Heartbeat {
  return { intervalSeconds: config.heartbeatIntervalSeconds, graceSeconds: config.heartbeatGraceSeconds };
}

interface Deciding extends Pick<ServiceWork, 'drain'> {
  /** How much of what people wrote does not count. */
  unprovenCount(): number;
  notReady(): string | undefined;
  /** Why people are not heard now, or undefined. */
  notHeard(): string | undefined;
}

/** Decides, and hears people while the admission policies hold, from here on. */
async function startDeciding(
  { nc, log, logger, metrics }: ServiceContext,
  config: ApproverConfig,
  { client, probeClient, hubEpoch }: Clients & { hubEpoch: HubEpoch | undefined },
): Promise<Deciding> {
  const nowMs = Date.now;
  const heartbeat = heartbeatOf(config);
  const { policyDeadlineMs: deadlineMs, leaveWait: leaveWaitMs } = config;
  const tokenRules = { allowEndless: config.allowEndlessTokens, namespaces: config.tokenNamespaces };
  const evaluator = countEvaluations(createPolicyEvaluator({ deadlineMs }), metrics);
  const fleet = createFleetView(log, (error) =>
    logger.warn({ err: error }, 'an event was left out of the counts of the fleet'),
  );
  const bulk = { fleet, limit: { perMinute: config.bulkPerMinute, share: config.bulkShare } };
  const probe = startAdmissionProbe({
    client: probeClient,
    logger,
    onChange(state, problems) {
      for (const policy of admissionPolicyNames) {
        const isMissing = problems.some((each) => each.policy === policy);
        metrics.gauge('rollcall_admission_policy_ok', isMissing ? 0 : 1, { policy });
      }
      metrics.gauge('rollcall_admission_ok', state.missing === undefined ? 1 : 0);
      // The first answer may come before the line below has run.
      queueMicrotask(() => hearing.changed());
    },
  });
  const arrivals = createArrivals();
  const deciding = { log, client, logger, heartbeat, leaveWaitMs, bulk, arrivals };
  const peopleParts = { ...deciding, hubEpoch, tokenRules, nowMs };
  const hearing = whileInPlace({
    log,
    logger,
    probe,
    nowMs,
    hear: (gate) => followEverything(peopleParts, gate),
    collect: (bornAfterMs) =>
      collectUnproven({ ...peopleParts, kinds: peoplesKinds(peopleParts) }, bornAfterMs),
  });
  const judging: JudgeParts = { log, logger, evaluator, fleet, deadlineMs, heartbeat, leaveWaitMs, nowMs };
  const minutes = everyMinute(() => judgeAsTimePasses(judging), logger);
  async function endAll(): Promise<void> {
    await minutes.stop();
    probe.stop();
    await hearing.drain();
    await evaluator.close();
  }
  const consuming = consumeEvents(nc, {
    service: 'approver',
    logger,
    metrics,
    arrivals,
    async handle(event) {
      for (const id of maybeFlooding(event))
        await handleFlooding({ log, heartbeat, ...bulk, nowMs }, id, traceOf(event));
      await handleEvent(judging, event);
      if (event.type === 'published') hearing.current()?.wakeToken(event.id);
      if (event.type === 'left') hearing.current()?.lookAtPredefined();
    },
  });
  const consumption = await consuming.catch(async (error: unknown) => {
    await endAll();
    throw error;
  });
  return {
    unprovenCount: hearing.unprovenCount,
    notReady: hearing.notReady,
    notHeard: () =>
      hearing.notReady() ??
      probe.state().missing ??
      (hearing.current() ? undefined : 'people are not heard yet'),
    async drain() {
      await consumption.drain();
      await endAll();
    },
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
