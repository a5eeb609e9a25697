import { errorCatalogue } from '@rollcall/shared/errors';
import { resources } from '@rollcall/shared/kubernetes/resources';
import { longSeconds, type MetricTable, shortSeconds } from './metric-definition.ts';

const errorCodes = Object.keys(errorCatalogue);
const kinds = [...new Set(Object.values(resources).map(({ kind }) => kind))];

/** Of those that write to the API server of the hub: projector and rbac-provisioner. */
export const kubernetesMetrics = {
  rollcall_requests_waiting: {
    type: 'gauge',
    help: 'Requests that are not decided: `pending` waits for the approver, `held` for a person or a policy.',
    services: ['projector'],
    labels: { state: ['pending', 'held'] },
  },
  rollcall_oldest_waiting_request_age_seconds: {
    type: 'gauge',
    help: 'Age of the oldest request that is not decided; 0 while there is none.',
    services: ['projector'],
    labels: { state: ['pending', 'held'] },
  },
  rollcall_access_tokens_total: {
    type: 'counter',
    help: 'Access tokens that were asked for: `sealed` is a token for the agent, `none` had no access, otherwise the code of the refusal.',
    services: ['rbac-provisioner'],
    labels: { outcome: ['sealed', 'none', ...errorCodes] },
  },
  rollcall_kubernetes_writes_total: {
    type: 'counter',
    help: 'Writes that the API server took, by kind and what was written; `shape` is metadata and spec.',
    services: ['projector', 'rbac-provisioner'],
    labels: { kind: kinds, what: ['create', 'shape', 'status', 'delete'] },
  },
  rollcall_kubernetes_write_duration_seconds: {
    type: 'histogram',
    help: 'How long the API server took for a write, failures included.',
    services: ['projector', 'rbac-provisioner'],
    buckets: shortSeconds,
  },
  rollcall_projector_lag_seconds: {
    type: 'gauge',
    help: 'How old the oldest event is that Kubernetes does not show yet; 0 when it shows everything.',
    services: ['projector'],
  },
  rollcall_projection_duration_seconds: {
    type: 'histogram',
    help: 'From an event to its projection, for each status that showed a new event.',
    services: ['projector'],
    buckets: longSeconds.slice(0, 12),
  },
  rollcall_projector_queued: {
    type: 'gauge',
    help: 'Objects whose projection may be old, those that wait on purpose included.',
    services: ['projector'],
  },
  rollcall_projector_budget_waiting: {
    type: 'gauge',
    help: 'Writes that wait because the write budget is spent.',
    services: ['projector'],
  },
  rollcall_projector_budget_writes_per_second: {
    type: 'gauge',
    help: 'The write budget, as it is set.',
    services: ['projector'],
  },
  rollcall_projector_older_refused_total: {
    type: 'counter',
    help: 'Statuses that the API server refused because it shows a later event.',
    services: ['projector'],
  },
  rollcall_projector_behind_witness: {
    type: 'gauge',
    help: 'Clusters of which the API server shows a later event than the stream has.',
    services: ['projector'],
  },
} as const satisfies MetricTable;
