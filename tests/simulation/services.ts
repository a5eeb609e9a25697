import type { NatsConnection } from '@nats-io/transport-node';
import type { EventLog } from '@rollcall/shared/bus';
import type { StoredEvent } from '@rollcall/shared/events';
import { agentsAccountClaims } from '@rollcall/shared/rights';
import type { MetricsRegistry } from '@rollcall/shared/service';
import { handleEvent } from '../../services/approver/handle-event.ts';
import {
  declaredPolicies,
  declaredSets,
  declaredTokens,
} from '../../services/approver/declarations/declared-kinds.ts';
import { startObjectController } from '../../services/approver/declarations/object-controller.ts';
import { everyMinute } from '../../services/approver/requests/every-minute.ts';
import { createFleetView } from '../../services/approver/fleet/fleet-view.ts';
import { judgeAsTimePasses } from '../../services/approver/requests/judge-requests.ts';
import { openUnproven } from '../../services/approver/admission/unattributed-changes.ts';
import { followUserChanges } from '../../services/approver/people/user-changes.ts';
import { configSchema as projectorConfig } from '../../services/projector/config.ts';
import { createProjection } from '../../services/projector/apply/projection.ts';
import { clusterKey, keyOfEvent, markWholeHistory } from '../../services/projector/apply/event-keys.ts';
import { followForeignChanges } from '../../services/projector/follow/mark-foreign-changes.ts';
import { reconcileAccess } from '../../services/rbac-provisioner/access/reconcile-access.ts';
import { createAdmission, tellMember } from '../../services/registrar/members/follow-decisions.ts';
import { endLeavings } from '../../services/registrar/members/leaving-timeout.ts';
import type { ReplySettings } from '../../services/registrar/replies/reply.ts';
import { handleRequests } from '../../services/registrar/requests/handle-requests.ts';
import { createRotationHandler } from '../../services/registrar/members/key-rotation.ts';
import { createMemberChanges } from '../../services/registrar/limits/member-changes.ts';
import { CutKeys, cutKeys } from '../../services/account-controller/cut-keys.ts';
import { createConnectionEnder } from '../../services/account-controller/end-connections.ts';
import { createClaimsController } from '../../services/account-controller/reconcile-account-claims.ts';
import { createRevokedKeysReader } from '../../services/account-controller/read-revoked-keys.ts';
import { createConsumer } from './delivery.ts';
import { startHeartbeat } from './heartbeat-replica.ts';
import { hubSecrets, openSystemAccount } from './nats-account.ts';
import { createPolicyEvaluator } from './policy-evaluator.ts';
import type { Replica } from './replica.ts';
import { hubIdOf } from '@rollcall/shared/trust';
import { epoch, openSimulatedFacts, openSimulatedLog } from './simulated-log.ts';
import { connectKube } from './simulated-kube.ts';
import type { World } from './world.ts';

/** The agents of the simulation hear that they leave and say nothing: each time is waited for to its end. */
export const leaveWaitMs = 1500;
export const heartbeat = { intervalSeconds: 15, graceSeconds: 45 };
/** Short, so that renewals happen within a seed. */
export const memberLifeMs = 90_000;
export const longestLifeMs = 600_000;
/** As the account controller's own default. */
const checkIntervalMs = 60_000;
export const reservedNames = ['default'];

let settingsMade: ReplySettings | undefined;
export const settings = (): ReplySettings => {
  const { answer, keys, signers } = hubSecrets();
  settingsMade ??= {
    hubId: hubIdOf(answer.publicKey),
    replyKey: answer,
    replyChain: [],
    hubCas: undefined,
    hubAddresses: undefined,
    issuer: { agentsAccount: keys.agents, signers },
    memberLifeMs,
    waitingLifeMs: longestLifeMs,
    heartbeatIntervalMs: 15_000,
    intervalMultiplier: () => 1,
    returnWithinMs: () => undefined,
  };
  return settingsMade;
};

const nothing = () => undefined;
const metrics: MetricsRegistry = {
  count: nothing,
  total: nothing,
  gauge: nothing,
  observe: nothing,
  beforeScrape: nothing,
  value: () => 0,
  render: () => '',
};

function startRegistrar(world: World, replica: Replica, log: EventLog): void {
  const { logger } = replica;
  let take: ((error: null, message: { subject: string; data: Uint8Array }) => void) | undefined;
  const nc = {
    subscribe: (_subject: string, options: { callback: NonNullable<typeof take> }) => {
      take = options.callback;
    },
    publish: (subject: string, data: Uint8Array) => world.answer(subject, data),
  } as unknown as NatsConnection;
  const facts = openSimulatedFacts(world, replica);
  const refuseNew = () => undefined;
  // No agent here asks for it; tests/e2e/hub-access.test.ts does.
  const access = () => Promise.resolve({ kind: 'done' } as const);
  const memberChanges = createMemberChanges();
  handleRequests(nc, {
    log,
    facts,
    logger,
    metrics,
    epoch,
    reservedNames,
    maxUsesPerTokenPerDay: 10_000,
    maxBytesPerTokenPerDay: 33_554_432,
    maxBytesPerDay: 536_870_912,
    memberChanges,
    arrivals: { note: () => undefined },
    leaveTurn: (work) => work(),
    settings: settings(),
    access,
    rotate: createRotationHandler(log, settings(), { isFull: () => false, changes: memberChanges }),
    isFull: () => false,
    refuseNew,
    floods: { found: () => undefined, isUnheard: () => false },
    speaking: nc,
  });
  replica.listen((what) => {
    if (what.kind === 'ask') take?.(null, what);
  });
  replica.consumer = createConsumer({
    handle: createAdmission(nc, log, {
      settings: settings(),
      metrics,
      facts,
      leavings: endLeavings(log, { logger }),
      teller: { tell: tellMember(nc, { log, settings: settings() }) },
    }),
  });
}

function startApprover(world: World, replica: Replica, log: EventLog): void {
  const { logger, signal } = replica;
  const { faults, scheduler, random } = world;
  const nowMs = Date.now;
  const client = connectKube(world, replica);
  let missingUntilMs = 0;
  const gate = {
    signal,
    unproven: openUnproven({ log, logger, words: [], nowMs }),
    async whyHeld() {
      if (missingUntilMs > scheduler.nowMs) return 'the admission policies are missing';
      await scheduler.wait(random.next() * 4, replica.life);
      await replica.step();
      if (!faults.strikes('admission.missing')) return undefined;
      missingUntilMs = scheduler.nowMs + random.int(1000, 20_000);
      scheduler.after(
        missingUntilMs - scheduler.nowMs + 1,
        () =>
          replica.run(async () => {
            people.lookAgain();
            for (const each of [tokens, policies, sets]) each.wakeWhere(() => true);
          }),
        replica.life,
      );
      return 'the admission policies are missing';
    },
  };
  // Nobody confirms here: a bulk change is tested by itself (services/approver/bulk/bulk-change.test.ts).
  const fleet = createFleetView(log);
  const bulk = { fleet, limit: { perMinute: 1_000_000, share: 1 } };
  const arrivals = { areUnderWay: () => false };
  const people = followUserChanges({
    log,
    client,
    logger,
    gate,
    heartbeat,
    leaveWaitMs,
    bulk,
    arrivals,
    nowMs,
  });
  const declaring = { log, client, logger, gate, nowMs };
  const tokens = startObjectController(
    declaring,
    declaredTokens({ rules: { allowEndless: false, namespaces: 'any' }, nowMs }),
  );
  const policies = startObjectController(declaring, declaredPolicies(logger));
  const sets = startObjectController(declaring, declaredSets);
  const evaluator = createPolicyEvaluator(world, replica);
  const judging = {
    log,
    logger,
    evaluator,
    fleet,
    deadlineMs: 100,
    heartbeat,
    leaveWaitMs,
    nowMs,
  };
  everyMinute(() => judgeAsTimePasses(judging), logger);
  replica.consumer = createConsumer({
    async handle(event) {
      await handleEvent(judging, event);
      if (event.type === 'published') tokens.wake(event.id);
      if (event.type === 'left') people.lookAtPredefined();
    },
  });
}

function startProvisioner(world: World, replica: Replica, log: EventLog): void {
  const parts = { log, kube: connectKube(world, replica), reservedNames, nowMs: Date.now };
  replica.consumer = createConsumer({
    async handle(event) {
      // Nobody here has the hub make a token.
      if (event.kind === 'cluster') await reconcileAccess(parts, event);
    },
  });
}

async function startProjector(world: World, replica: Replica, log: EventLog): Promise<void> {
  const { logger, signal } = replica;
  const client = connectKube(world, replica);
  const facts = openSimulatedFacts(world, replica);
  const hubApi = { server: 'https://127.0.0.1', caPem: undefined };
  const config = projectorConfig.parse({ busServers: 'nats://127.0.0.1', busCaFile: '-', identityFile: '-' });
  const { view, queue } = createProjection(
    { log, logger, metrics },
    { client, facts, config, hubApi, arrivals: { areUnderWay: () => false }, signal },
  );
  await view.whenDeclaredSynced;
  replica.listen((what) => {
    if (what.kind === 'facts') queue.mark(clusterKey(what.clusterId), 'fact');
  });
  replica.consumer = createConsumer({
    ordered: false,
    async handle(event) {
      const key = keyOfEvent(event);
      if (key !== undefined) await queue.project(key);
    },
  });
  await view.whenSynced;
  followForeignChanges(view, queue);
  for (;;) {
    try {
      await markWholeHistory(log, queue);
      break;
    } catch {
      await world.scheduler.wait(200, replica.life);
    }
  }
}

function startAccountController(world: World, replica: Replica, log: EventLog): void {
  const { scheduler } = world;
  const { keys, operator } = hubSecrets();
  const system = openSystemAccount(world, replica);
  const clock = { longestLifeMs, nowMs: Date.now };
  const revokedKeys = createRevokedKeysReader(log, { ...clock, skipped: () => undefined });
  const keepClaims = createClaimsController({
    ...clock,
    system,
    known: () => ({
      keys,
      agentsAccount: agentsAccountClaims(keys, {}),
      formerAgentSigners: [],
      signer: operator,
    }),
    readRevokedKeys: (listed) => revokedKeys.read(listed),
  });
  const endConnections = createConnectionEnder({ system, account: keys.agents });
  const parts = { ...clock, log, keepClaims, endConnections, cutKeys: new CutKeys() };
  const check = async (): Promise<void> => {
    await keepClaims().catch(() => undefined);
    scheduler.after(checkIntervalMs, () => replica.run(check), replica.life);
  };
  replica.run(check);
  replica.consumer = createConsumer({
    async handle(event: StoredEvent) {
      if (event.type === 'revoked') return cutKeys(parts, event);
      if (await revokedKeys.mayGiveBack(event)) await keepClaims();
    },
  });
}

/** Wires one service as its main.ts does, over the simulated world. */
export async function startService(world: World, replica: Replica): Promise<void> {
  const log = openSimulatedLog(world, replica);
  switch (replica.service) {
    case 'registrar':
      return startRegistrar(world, replica, log);
    case 'approver':
      return startApprover(world, replica, log);
    case 'rbac-provisioner':
      return startProvisioner(world, replica, log);
    case 'projector':
      return startProjector(world, replica, log);
    case 'account-controller':
      return startAccountController(world, replica, log);
    case 'heartbeat':
      return startHeartbeat(world, replica, log);
  }
}
