import { approved, clusterRecord, type Decision, type StoredEvent } from '@rollcall/shared/events';
import type { EventLog } from '@rollcall/shared/bus';
import { createLogger } from '@rollcall/shared/service';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { declarePolicy, requestAs } from '../../../tests/harness/events.ts';
import { startTestHub, type TestHub } from '../../../tests/harness/test-hub.ts';
import { createFleetView } from '../fleet/fleet-view.ts';
import { judgeAsTimePasses, judgeRequest, type JudgeParts } from '../requests/judge-requests.ts';
import { createPolicyEvaluator, type PolicyEvaluator } from '../policy/policy-thread.ts';
import { heartbeat } from './builders.ts';

let hub: TestHub;
let registrar: EventLog;
let replicas: JudgeParts[];
const evaluators: PolicyEvaluator[] = [];
let nowMs = Date.UTC(2026, 10, 21, 8, 59);

beforeAll(async () => {
  hub = await startTestHub();
  registrar = await hub.openLog('registrar');
  const replica = async (): Promise<JudgeParts> => {
    const log = await hub.openLog('approver');
    // A busy machine is no reason to hold here: what is tested is the counting.
    const evaluator = createPolicyEvaluator({ deadlineMs: 5000 });
    evaluators.push(evaluator);
    const logger = createLogger({ service: 'approver', level: 'error' });
    return {
      log,
      logger,
      evaluator,
      fleet: createFleetView(log),
      deadlineMs: 5000,
      heartbeat,
      leaveWaitMs: 0,
      nowMs: () => nowMs,
    };
  };
  replicas = [await replica(), await replica()];
});
afterAll(async () => {
  await Promise.all(evaluators.map((evaluator) => evaluator.close()));
  await hub?.[Symbol.asyncDispose]();
});

const replicaOf = (index: number) => replicas[index % replicas.length] as JudgeParts;

const declare = (name: string, when: string) => declarePolicy(replicaOf(0).log, { name, when });
const asks = (id: string) => requestAs(registrar, id, nowMs);

const decisionOf = async (id: string) =>
  clusterRecord(await registrar.read({ kind: 'cluster', id })).decision as Decision;

test('a quota is not exceeded by two replicas that judge twenty requests at once', async () => {
  await declare('quota', 'request.clusterName.startsWith("edge-") && fleet.byPolicyToday["quota"] < 3');
  const ids = Array.from({ length: 20 }, (_, index) => `edge-${index}`);
  await Promise.all(ids.map(asks));
  await Promise.all(ids.map((id, index) => judgeRequest(replicaOf(index), id, { correlation: id })));
  const decisions = await Promise.all(ids.map(decisionOf));
  expect(decisions.filter(({ verdict }) => verdict === 'approved')).toHaveLength(3);
  expect(decisions.filter(({ verdict }) => verdict === 'held')).toHaveLength(17);
  const approvals: StoredEvent[] = await Array.fromAsync(registrar.scan({ filter: 'cluster.*.approved' }));
  const counts: StoredEvent[] = await Array.fromAsync(registrar.scan({ filter: 'hub.fleet.counted' }));
  expect(counts.map(({ section }) => (section as { clusterId: string }).clusterId).toSorted()).toEqual(
    approvals.map(({ id }) => id).toSorted(),
  );
  expect(approvals.every(({ definition }) => definition === approved)).toBe(true);
});

test('held requests are judged again as time passes: the next day has a quota of its own', async () => {
  await Promise.all(replicas.map(judgeAsTimePasses));
  expect(await replicaOf(0).fleet.pending()).toHaveLength(17);
  nowMs = Date.UTC(2026, 10, 22);
  await Promise.all(replicas.map(judgeAsTimePasses));
  expect(await replicaOf(1).fleet.pending()).toHaveLength(14);
});

test('a time window opens', async () => {
  nowMs = Date.UTC(2026, 10, 22, 8, 59, 59, 999);
  await declare('hours', 'request.clusterName == "core" && time.hour >= 9 && time.hour < 17');
  await asks('core');
  await judgeRequest(replicaOf(0), 'core', { correlation: 'core' });
  expect(await decisionOf('core')).toMatchObject({ verdict: 'held', reason: 'NoRuleMatched' });
  nowMs = Date.UTC(2026, 10, 22, 9);
  await judgeAsTimePasses(replicaOf(1));
  expect(await decisionOf('core')).toMatchObject({ verdict: 'approved', by: { policy: 'hours', rule: 'r' } });
});

test('two hundred that wait when nobody knows yet that a policy reads the fleet take their turns, and lose no race', async () => {
  await declare('many', 'request.clusterName.startsWith("many-") && fleet.clusters < 1000');
  const ids = Array.from({ length: 200 }, (_, index) => `many-${index}`);
  await Promise.all(ids.map(asks));
  const { log } = replicaOf(0);
  let appends = 0;
  const counted: EventLog = {
    ...log,
    append(...how) {
      appends++;
      return log.append(...how);
    },
  };
  // As after a restart: all of them begin at once.
  const anew = { ...replicaOf(0), log: counted, fleet: createFleetView(log) };
  await Promise.all(ids.map((id) => judgeRequest(anew, id, { correlation: id })));
  const decisions = await Promise.all(ids.map(decisionOf));
  expect(decisions.every(({ verdict }) => verdict === 'approved')).toBe(true);
  expect(appends).toBe(ids.length);
});
