import { context, trace } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { RollcallError } from '@rollcall/shared/errors';
import { afterEach, expect, test } from 'vitest';
import { inSpan, traceIdOf } from './in-span.ts';

const traceId = 'a'.repeat(32);
const parent = `00-${traceId}-${'b'.repeat(16)}-01`;
const step = { name: 'a step', kind: 'consumer' } as const;

afterEach(() => {
  trace.disable();
  context.disable();
});

function anExporter(): InMemorySpanExporter {
  const exporter = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  );
  return exporter;
}

test.each([parent, undefined, 'garbage', `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`])(
  'without an exporter %s is passed on as it came',
  async (traceparent) => {
    expect(await inSpan({ ...step, traceparent }, async (own) => own)).toBe(traceparent);
  },
);

test('with an exporter a step is the child of what set it off, and what it publishes is its own child', async () => {
  const exporter = anExporter();
  const attributes = { 'rollcall.service': 'approver' };
  const own = await inSpan({ ...step, traceparent: parent, attributes }, async (traceparent) => traceparent);
  const [span] = exporter.getFinishedSpans();
  expect(span).toMatchObject({ name: 'a step', attributes, parentSpanContext: { spanId: 'b'.repeat(16) } });
  expect(own).toBe(`00-${traceId}-${span?.spanContext().spanId}-01`);
});

test('a trace that the agent did not want sampled is not exported, and goes on', async () => {
  const exporter = anExporter();
  const unsampled = `00-${traceId}-${'b'.repeat(16)}-00`;
  const own = await inSpan({ ...step, traceparent: unsampled }, async (traceparent) => traceparent);
  expect(exporter.getFinishedSpans()).toEqual([]);
  expect(own).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
});

test('a step without a trace, or with none that is valid, begins one', async () => {
  anExporter();
  const own = await inSpan({ ...step, traceparent: 'garbage' }, async (traceparent) => traceparent);
  expect(traceIdOf(own)).toMatch(/^[0-9a-f]{32}$/);
});

test('what a step throws is thrown, and the span says by which code and not by which words', async () => {
  const exporter = anExporter();
  const failing = inSpan(step, () => Promise.reject(new RollcallError('BUS_UNREACHABLE', 'with details')));
  await expect(failing).rejects.toMatchObject({ code: 'BUS_UNREACHABLE' });
  const [span] = exporter.getFinishedSpans();
  expect(span?.attributes).toEqual({ 'error.type': 'BUS_UNREACHABLE' });
  expect(span?.events).toEqual([]);
  expect(JSON.stringify(span?.status)).not.toContain('details');
});
