import { approverMetrics } from './approver-metrics.ts';
import { commonMetrics } from './common-metrics.ts';
import { heartbeatMetrics } from './heartbeat-metrics.ts';
import { kubernetesMetrics } from './kubernetes-metrics.ts';
import type { MetricDefinition, MetricTable } from './metric-definition.ts';
import { registrarMetrics } from './registrar-metrics.ts';
import { trustMetrics } from './trust-metrics.ts';

/** Every metric there is. A service can use those that name it and no others; docs/metrics.md is made from this. */
export const metricCatalogue = {
  ...commonMetrics,
  ...registrarMetrics,
  ...approverMetrics,
  ...heartbeatMetrics,
  ...kubernetesMetrics,
  ...trustMetrics,
} as const satisfies MetricTable;

type Catalogue = typeof metricCatalogue;

export type MetricName<Type extends MetricDefinition['type'] = MetricDefinition['type']> = {
  [Name in keyof Catalogue]: Catalogue[Name]['type'] extends Type ? Name : never;
}[keyof Catalogue];

/** A value for each label of a metric; nothing for one without labels. */
export type LabelsOf<Name extends MetricName> = Catalogue[Name] extends { labels: infer Labels }
  ? [labels: { readonly [Label in keyof Labels]: string }]
  : [];
