import { admissionPolicyNames } from '@rollcall/shared/admission';
import { consumeEvents, createArrivals } from '@rollcall/shared/decisions';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import type { ServiceContext, ServiceWork } from '@rollcall/shared/service';
import { startAdmissionProbe } from './admission/probe.ts';
import { whileInPlace } from './admission/while-admission-in-place.ts';
import { handleFlooding } from './bulk/handle-flooding.ts';
import type { ApproverConfig } from './config.ts';
import type { HubEpoch } from './declarations/token-epoch.ts';
import type { Heartbeat } from './decision/decision-section.ts';
import { createFleetView } from './fleet/fleet-view.ts';
import { handleEvent, maybeFlooding, traceOf } from './handle-event.ts';
import { collectUnproven } from './people/collect-unattributed-changes.ts';
import { followEverything, peoplesKinds } from './people/watch-peoples-objects.ts';
import { countEvaluations } from './policy/evaluation-metrics.ts';
import { createPolicyEvaluator } from './policy/policy-thread.ts';
import { everyMinute } from './requests/every-minute.ts';
import { judgeAsTimePasses, type JudgeParts } from './requests/judge-requests.ts';

export interface Clients {
  readonly client: KubeClient;
  /** Of somebody who has no right to decide: what the admission policies refuse it shows that the admission policies are in place. */
  readonly probeClient: KubeClient | undefined;
}

/** What the settings say of the heartbeat of clusters whose policy says nothing. */
export function heartbeatOf(config: ApproverConfig): Heartbeat {
  return { intervalSeconds: config.heartbeatIntervalSeconds, graceSeconds: config.heartbeatGraceSeconds };
}

export interface Deciding extends Pick<ServiceWork, 'drain'> {
  /** How much of what people wrote does not count. */
  unprovenCount(): number;
  notReady(): string | undefined;
  /** Why people are not heard now, or undefined. */
  notHeard(): string | undefined;
}

/** Decides, and hears people while the admission policies hold, from here on. */
export async function startDeciding(
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
      await handleFlooding({ log, heartbeat, ...bulk, nowMs }, maybeFlooding(event), traceOf(event));
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
