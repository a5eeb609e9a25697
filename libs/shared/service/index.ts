export { busAddress } from './bus-address.ts';
export { commonConfig, kubernetesConfig } from './common-config.ts';
export { followIdentity } from './follow-identity.ts';
export { busUserSchema, readIdentity } from './identity.ts';
export { createLogger, type LogFields, type Logger } from './log.ts';
export { metricCatalogue, type MetricDefinition } from './metric-catalogue.ts';
export { createMetrics, type Metrics, type MetricsRegistry } from './metrics.ts';
export { type RunningService, runService, type ServiceContext, type ServiceWork } from './run-service.ts';
export { rollcallVersion } from './version.ts';
