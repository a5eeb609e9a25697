import { randomUUID } from 'node:crypto';
import { trace } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import type { StoredEvent } from '@rollcall/shared/events';
import { type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { traceIdOf } from '@rollcall/shared/tracing';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { connectAsInspector } from '../../cli/up/state/people-connection.ts';
import { startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';

let hub: TestEmbeddedHub;
beforeAll(async () => {
  hub = await startTestEmbeddedHub();
});
afterAll(() => hub[Symbol.asyncDispose]());
afterEach(() => trace.disable());

const ofOneJoin = ['requested', 'approved', 'provisioned', 'admitted', 'joined'];

/** One cluster joins. @returns its events up to the first heartbeat */
async function join(name: string): Promise<StoredEvent[]> {
  const token = await hub.createToken();
  await hub.startAgent({ name, token: token.text });
  await hub.untilReady(name);
  // The namespace may be ready a moment after the cluster is.
  const events = await until('everything has happened', async () => {
    const found = await hub.log.readAll(`cluster.${name}.*`);
    return found.length >= ofOneJoin.length && found;
  });
  expect(events.map(({ type }) => type).toSorted()).toEqual(ofOneJoin.toSorted());
  return events;
}

test('every event of a join carries the trace and the correlation of the request, with no exporter', async () => {
  const events = await join(`traced-${randomUUID().slice(0, 8)}`);
  const [first] = events;
  expect(first?.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  expect(new Set(events.map(({ traceparent }) => traceparent))).toEqual(new Set([first?.traceparent]));
  expect(new Set(events.map(({ correlation }) => correlation))).toEqual(new Set([first?.correlation]));
});

test('services say on the bus what they have counted [X-10]', async () => {
  await join(`counted-${randomUUID().slice(0, 8)}`);
  const nc = await connectAsInspector(hub.up.stateDir, hub.up.natsAddress);
  const statsOf = async (service: string) => {
    const answer = await nc.request(`$SRV.STATS.${service}`, '', { timeout: 5000 });
    return answer.json<{ data: Record<string, number> }>().data;
  };
  expect((await statsOf('registrar'))['requests']).toBeGreaterThanOrEqual(1);
  expect((await statsOf('approver'))['approved']).toBeGreaterThanOrEqual(1);
  expect((await statsOf('rbac-provisioner'))['provisioned']).toBeGreaterThanOrEqual(1);
  expect((await statsOf('heartbeat'))['clustersReady']).toBeGreaterThanOrEqual(1);
  const shown = await statsOf('projector');
  expect(shown).toMatchObject({ waitingRequests: 0, oldestWaitingSeconds: 0, deadLetters: 0 });
  expect(shown['kubernetesWrites']).toBeGreaterThan(0);
  expect(await statsOf('account-controller')).toMatchObject({ deadLetters: 0 });
  await nc.close();
});

/** Spans are kept in memory from here on, until the test ends. */
function exportSpans(): InMemorySpanExporter {
  const exporter = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  );
  return exporter;
}

async function untilPolicyIs(type: string): Promise<void> {
  const newest = async () => (await hub.log.read({ kind: 'policy', id: 'default' })).newest?.type;
  await until(`the policy is ${type}`, async () => (await newest()) === type);
}

async function approve(clusterId: string): Promise<void> {
  const keyFingerprint = (await hub.request(clusterId))?.spec.keyFingerprint;
  const spec = { decision: { verdict: 'Approve', keyFingerprint } };
  await hub.up.admin.mergePatch(resources.clusterRegistrationRequests, clusterId, { spec });
}

async function declarePolicy(_clusterId: string, spec: unknown): Promise<void> {
  const what = { apiVersion: 'rollcall.dev/v1alpha1', kind: 'ApprovalPolicy', metadata: { name: 'default' } };
  await hub.up.admin.create(resources.approvalPolicies, { ...what, spec } as KubeObject);
  await untilPolicyIs('declared');
}

const spanIdIn = (event: StoredEvent | undefined) => event?.traceparent?.split('-')[2];

test('with an exporter the whole join is one trace, from the request to the status in Kubernetes [X-10]', async () => {
  const exporter = exportSpans();
  const name = `spanned-${randomUUID().slice(0, 8)}`;
  const events = await join(name);
  const traceId = traceIdOf(events[0]?.traceparent);
  expect(new Set(events.map(({ traceparent }) => traceIdOf(traceparent)))).toEqual(new Set([traceId]));
  expect(new Set(events.map(({ correlation }) => correlation)).size).toBe(1);

  const wanted = [
    'registrar request join',
    'approver cluster.requested',
    'rbac-provisioner cluster.approved',
    'registrar cluster.approved',
    'heartbeat joined',
    'projector cluster.joined',
    'projector status',
  ];
  const spans = await until('the last step has ended', async () => {
    const own = exporter.getFinishedSpans().filter((span) => span.spanContext().traceId === traceId);
    return wanted.every((step) => own.some((span) => span.name === step)) && own;
  });
  // Each event names the step that wrote it, and each step the event that set it off: so the steps hang together.
  const written = new Map(events.map((event) => [event.type, spanIdIn(event)]));
  const spanOf = (step: string) => spans.find((span) => span.name === step) as ReadableSpan;
  const idOf = (step: string) => spanOf(step).spanContext().spanId;
  expect(Object.fromEntries(written)).toEqual({
    requested: idOf('registrar request join'),
    approved: idOf('approver cluster.requested'),
    provisioned: idOf('rbac-provisioner cluster.approved'),
    admitted: idOf('registrar cluster.approved'),
    joined: idOf('heartbeat joined'),
  });
  expect(spanOf('approver cluster.requested').parentSpanContext?.spanId).toBe(idOf('registrar request join'));
  expect(spanOf('heartbeat joined').parentSpanContext?.spanId).toBe(idOf('registrar cluster.approved'));
  expect(spanOf('projector cluster.joined').parentSpanContext?.spanId).toBe(idOf('heartbeat joined'));
  const ids = new Set(spans.map((span) => span.spanContext().spanId));
  const roots = spans.filter((span) => !ids.has(span.parentSpanContext?.spanId ?? ''));
  expect(roots.every((span) => span.name === 'registrar request join')).toBe(true);
  // Whoever collects the traces sees ids, types and object names; no key, token or credential.
  const attributes = new Set(spans.flatMap((span) => Object.keys(span.attributes)));
  expect([...attributes].toSorted()).toEqual([
    'rollcall.correlation',
    'rollcall.event.id',
    'rollcall.event.sequence',
    'rollcall.event.type',
    'rollcall.object',
    'rollcall.service',
  ]);
});

test.each([
  { who: 'a person', step: 'approver person', letIn: approve },
  { who: 'a policy that comes later', step: 'approver judges again', letIn: declarePolicy },
])(
  'with an exporter the decision of $who about a held request is a step of its trace',
  async ({ step, letIn }) => {
    const exporter = exportSpans();
    const name = `held-${randomUUID().slice(0, 8)}`;
    const { admin } = hub.up;
    const policy = await admin.get(resources.approvalPolicies, { name: 'default' });
    await admin.delete(resources.approvalPolicies, 'default');
    await untilPolicyIs('withdrawn');
    const { agent } = await hub.startAgent({ name, token: (await hub.createToken()).text });
    await until('the request is held', async () => (await hub.request(name))?.status?.result === 'Held');
    await letIn(name, policy?.spec);
    await hub.untilReady(name);
    if (letIn === approve) await declarePolicy(name, policy?.spec);
    const events = new Map((await hub.log.readAll(`cluster.${name}.*`)).map((event) => [event.type, event]));
    agent.rotate();
    const rotation = await until('the agent has another key', async () =>
      (await hub.log.readAll(`cluster.${name}.*`)).find(({ type }) => type === 'rotated'),
    );
    const spanOf = (event: StoredEvent | undefined) =>
      until('the step that wrote it has ended', async () =>
        exporter.getFinishedSpans().find((span) => span.spanContext().spanId === spanIdIn(event)),
      );
    const [held, approved, admitted] = ['held', 'approved', 'admitted'].map((type) => events.get(type));
    const decided = await spanOf(approved);
    expect(decided.name).toBe(step);
    expect(decided.parentSpanContext?.spanId).toBe(spanIdIn(held));
    expect((await spanOf(admitted)).parentSpanContext?.spanId).toBe(spanIdIn(approved));
    expect(traceIdOf(admitted?.traceparent)).toBe(traceIdOf(held?.traceparent));
    expect((await spanOf(rotation)).name).toBe('registrar request renew');
  },
);
