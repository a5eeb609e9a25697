// Sends Rollcall's spans to a collector, by NODE_OPTIONS='--import …/tracing.mjs'; docs/metrics.md says what to install beside
// it. For version 3 of the OpenTelemetry SDK; Rollcall itself brings the API only, which works with versions 2 and 3 of the SDK.
import { trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';

const provider = new TracerProvider({
  resource: resourceFromAttributes({ 'service.name': process.env.OTEL_SERVICE_NAME ?? 'rollcall' }),
  spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
});
trace.setGlobalTracerProvider(provider);
process.once('beforeExit', () => provider.shutdown());
