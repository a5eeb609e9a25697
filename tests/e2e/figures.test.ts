import { clusterRecord } from '@rollcall/shared/events';
import { admissionPolicyNames } from '@rollcall/shared/admission/policy-names';
import { resources } from '@rollcall/shared/kubernetes';
import type { metricCatalogue } from '@rollcall/shared/service';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';
import { type ReadSample, readOpenMetrics } from '../harness/open-metrics.ts';

const withPort = { healthPort: '0' };
const startedMs = performance.now();
let hub: TestEmbeddedHub;
beforeAll(async () => {
  const settings = {
    registrar: withPort,
    approver: withPort,
    'rbac-provisioner': withPort,
    heartbeat: withPort,
    projector: withPort,
    'account-controller': withPort,
    'agent-host': withPort,
    'member-gateway': withPort,
  };
  hub = await startTestEmbeddedHub({ settings });
});
afterAll(() => hub[Symbol.asyncDispose]());

type Labels = Readonly<Record<string, string>>;
type Scraped = (name: string, labels?: Labels) => number;

/** What the endpoints of all services say now: the sum of a sample over services and over labels that are not given. */
async function scrape(): Promise<Scraped> {
  const families = await Promise.all(
    hub.up.services.map(async ({ healthPort }) => {
      const response = await fetch(`http://127.0.0.1:${healthPort}/metrics`);
      return [...readOpenMetrics(await response.text()).values()];
    }),
  );
  const samples = families.flat().flatMap((family) => family.samples);
  const isOf = (sample: ReadSample, labels: Labels) =>
    Object.entries(labels).every(([label, value]) => sample.labels.get(label) === value);
  return (name, labels = {}) => {
    const found = samples.filter((sample) => sample.name === name && isOf(sample, labels));
    return found.reduce((sum, { value }) => sum + value, 0);
  };
}

const recordOf = async (name: string) => clusterRecord(await hub.log.read({ kind: 'cluster', id: name }));

async function joinByPolicyAndRotate(): Promise<void> {
  const { agent } = await hub.startAgent({ name: 'by-policy', token: (await hub.createToken()).text });
  await hub.untilReady('by-policy');
  agent.rotate();
  await until('the former key is cut', async () => (await recordOf('by-policy')).cut);
}

async function joinByPerson(): Promise<void> {
  await hub.up.admin.delete(resources.approvalPolicies, 'default');
  await until('the policy is withdrawn', async () => {
    const { newest } = await hub.log.read({ kind: 'policy', id: 'default' });
    return newest?.type === 'withdrawn';
  });
  await hub.startAgent({ name: 'by-person', token: (await hub.createToken()).text });
  const request = await until('the request is held', async () => {
    const found = await hub.request('by-person');
    return found?.status?.result === 'Held' && found;
  });
  const decision = { verdict: 'Approve', keyFingerprint: request.spec.keyFingerprint };
  await hub.up.admin.mergePatch(resources.clusterRegistrationRequests, 'by-person', { spec: { decision } });
  await hub.untilReady('by-person');
}

async function beRefused(): Promise<void> {
  const token = await hub.createToken();
  const { phases } = await hub.startAgent({ name: 'kube-system', token: token.text });
  await until('the agent is refused', async () => phases.some(({ phase }) => phase === 'refused'));
}

type Metric = keyof typeof metricCatalogue;

interface Expectation {
  readonly sample: Metric | `${Metric}_count`;
  readonly labels?: Labels;
  /** Default of the second: the same. */
  readonly within: readonly [atLeast: number, atMost?: number];
}

const ready = { part: '0', of: '1', state: 'ready' };
const managed = { kind: 'ManagedCluster' };

/** After two joins, a rotation and a refusal; where how often is not ours to say, a floor and a ceiling far off. */
const wanted: readonly Expectation[] = [
  { sample: 'rollcall_ready', within: [8] },
  { sample: 'rollcall_bus_connected', within: [8] },
  { sample: 'rollcall_bus_reconnects_total', within: [0] },
  { sample: 'rollcall_dead_letters_total', within: [0] },
  { sample: 'rollcall_events_handled_total', labels: { outcome: 'done' }, within: [10, 1000] },
  { sample: 'rollcall_event_handling_duration_seconds_count', within: [10, 1000] },
  { sample: 'rollcall_events_written_total', labels: { type: 'cluster.held' }, within: [1] },
  { sample: 'rollcall_events_written_total', labels: { type: 'cluster.approved' }, within: [3] },
  { sample: 'rollcall_events_written_total', labels: { type: 'cluster.joined' }, within: [2] },
  { sample: 'rollcall_append_duration_seconds_count', within: [10, 1000] },

  { sample: 'rollcall_requests_total', labels: { outcome: 'requested' }, within: [2] },
  { sample: 'rollcall_requests_total', labels: { outcome: 'CLUSTER_NAME_RESERVED' }, within: [1, 10] },
  { sample: 'rollcall_requests_total', labels: { outcome: 'other' }, within: [0] },
  { sample: 'rollcall_agent_requests_total', labels: { verb: 'rotate' }, within: [1, 10] },
  { sample: 'rollcall_agent_requests_total', labels: { outcome: 'failed' }, within: [0] },
  { sample: 'rollcall_requests_open', within: [0] },
  { sample: 'rollcall_callouts_total', labels: { outcome: 'token' }, within: [3, 30] },
  { sample: 'rollcall_callouts_total', labels: { outcome: 'failed' }, within: [0] },
  { sample: 'rollcall_floods_total', within: [0] },
  { sample: 'rollcall_events_space_used_ratio', within: [0, 1] },
  { sample: 'rollcall_admission_duration_seconds_count', labels: { by: 'policy' }, within: [1] },
  { sample: 'rollcall_admission_duration_seconds_count', labels: { by: 'policy-later' }, within: [0] },
  { sample: 'rollcall_admission_duration_seconds_count', labels: { by: 'person' }, within: [1] },

  { sample: 'rollcall_admission_ok', within: [1] },
  { sample: 'rollcall_admission_policy_ok', within: [admissionPolicyNames.length] },
  { sample: 'rollcall_policy_evaluations_total', labels: { outcome: 'evaluated' }, within: [1, 10] },
  { sample: 'rollcall_policy_evaluations_total', labels: { outcome: 'failed' }, within: [0] },
  { sample: 'rollcall_policy_evaluations_total', labels: { outcome: 'timeout' }, within: [0] },
  { sample: 'rollcall_policy_evaluation_duration_seconds_count', within: [1, 10] },

  { sample: 'rollcall_registration_duration_seconds_count', labels: { by: 'policy' }, within: [1] },
  { sample: 'rollcall_registration_duration_seconds_count', labels: { by: 'policy-later' }, within: [0] },
  { sample: 'rollcall_registration_duration_seconds_count', labels: { by: 'person' }, within: [1] },
  { sample: 'rollcall_liveness_clusters', labels: ready, within: [2] },
  { sample: 'rollcall_liveness_clusters', within: [2] },
  { sample: 'rollcall_heartbeats_total', within: [2, 1000] },
  { sample: 'rollcall_heartbeats_malformed_total', within: [0] },
  { sample: 'rollcall_heartbeat_interval_multiplier', within: [1] },
  { sample: 'rollcall_liveness_signals', within: [2] },
  { sample: 'rollcall_flooding_clusters', within: [0] },
  { sample: 'rollcall_outage', within: [0] },

  { sample: 'rollcall_requests_waiting', within: [0] },
  { sample: 'rollcall_oldest_waiting_request_age_seconds', within: [0] },
  { sample: 'rollcall_projector_lag_seconds', within: [0] },
  { sample: 'rollcall_projector_budget_waiting', within: [0] },
  { sample: 'rollcall_projector_behind_witness', within: [0] },
  { sample: 'rollcall_projection_duration_seconds_count', within: [5, 1000] },
  { sample: 'rollcall_kubernetes_writes_total', labels: { ...managed, what: 'create' }, within: [2] },
  { sample: 'rollcall_kubernetes_writes_total', labels: { ...managed, what: 'status' }, within: [2, 1000] },
  { sample: 'rollcall_kubernetes_write_duration_seconds_count', within: [5, 1000] },

  { sample: 'rollcall_trust_pushes_total', within: [1, 100] },
  { sample: 'rollcall_trust_revocations', within: [1] },
  { sample: 'rollcall_trust_revocations_room', within: [1000, 1_000_000] },
  { sample: 'rollcall_trust_revocations_dropped', within: [0] },
  { sample: 'rollcall_trust_refused_total', within: [0] },
  { sample: 'rollcall_agent_host_members', within: [0] },
];

test('what alerts and the dashboard ask for says what has happened: two joins, a rotation and a refusal', async () => {
  await joinByPolicyAndRotate();
  await joinByPerson();
  await beRefused();
  const figure = await until('all of it is shown', async () => {
    const scraped = await scrape();
    const isCalm = scraped('rollcall_projector_lag_seconds') === 0 && scraped('rollcall_requests_open') === 0;
    return isCalm && scraped('rollcall_liveness_signals') === 2 && scraped;
  });
  const failures = wanted.filter(({ sample, labels, within: [atLeast, atMost = atLeast] }) => {
    const value = figure(sample, labels);
    return !(value >= atLeast && value <= atMost);
  });
  const saidOf = ({ sample, labels }: Expectation) => ({ sample, labels, value: figure(sample, labels) });
  expect(failures.map(saidOf)).toEqual([]);
  // In seconds, and of nothing that began before the test.
  const elapsedSeconds = (performance.now() - startedMs) / 1000;
  for (const step of ['admission', 'registration']) {
    for (const by of ['policy', 'person']) {
      const sum = figure(`rollcall_${step}_duration_seconds_sum`, { by });
      expect(sum, `${step} by ${by}`).toBeGreaterThan(0);
      expect(sum, `${step} by ${by}`).toBeLessThan(elapsedSeconds);
    }
  }
});
