import {
  type Attributes,
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { toRollcallError } from '@rollcall/shared/errors';
import { rollcallVersion } from '@rollcall/shared/service/version';

/** One step of a registration, as a trace shows it. */
export interface Step {
  /** Constant words; everything variable is an attribute. */
  readonly name: string;
  readonly kind: 'server' | 'consumer' | 'internal';
  /** Of what set the step off; without it the step begins a trace. */
  readonly traceparent?: string | undefined;
  /** Nothing that a log line would not say: no key, no token, no credential. */
  readonly attributes?: Attributes;
}

const kinds = { server: SpanKind.SERVER, consumer: SpanKind.CONSUMER, internal: SpanKind.INTERNAL } as const;

const pattern = /^[0-9a-f]{2}-(?<traceId>[0-9a-f]{32})-(?<spanId>[0-9a-f]{16})-(?<flags>[0-9a-f]{2})$/;

/** By hand: no propagator is registered unless a person brings one, and the trace has to go on all the same. */
function parentOf(traceparent: string | undefined): SpanContext | undefined {
  const { traceId = '', spanId = '', flags = '' } = pattern.exec(traceparent ?? '')?.groups ?? {};
  const parent = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(parent) ? parent : undefined;
}

function traceparentOf(span: Span): string | undefined {
  const spanContext = span.spanContext();
  if (!isSpanContextValid(spanContext)) return undefined;
  const flags = (spanContext.traceFlags & 0xff).toString(16).padStart(2, '0');
  return `00-${spanContext.traceId}-${spanContext.spanId}-${flags}`;
}

/** The trace that a `traceparent` belongs to, for log lines. */
export function traceIdOf(traceparent: string | undefined): string | undefined {
  return parentOf(traceparent)?.traceId;
}

/**
 * Does one step in a span of its own. Without an exporter it costs next to nothing, and the trace of the agent's request is
 * passed on as it came.
 * @param work - is given the `traceparent` for whatever it publishes; what it throws ends the span as failed, and is thrown
 */
export function inSpan<Result>(
  step: Step,
  work: (traceparent: string | undefined) => Promise<Result>,
): Promise<Result> {
  const parent = parentOf(step.traceparent);
  const before = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
  // Asked for each time: whoever is brought by --import may register late.
  const tracer = trace.getTracer('rollcall', rollcallVersion);
  const options = { kind: kinds[step.kind], ...(step.attributes ? { attributes: step.attributes } : {}) };
  const span = tracer.startSpan(step.name, options, before);
  return context.with(trace.setSpan(before, span), async () => {
    try {
      return await work(traceparentOf(span) ?? step.traceparent);
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR });
      span.setAttribute('error.type', toRollcallError(error).code);
      throw error;
    } finally {
      span.end();
    }
  });
}
