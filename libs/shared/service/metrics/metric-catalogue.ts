import { errorCatalogue } from '@rollcall/shared/errors';
import { eventCatalogue } from '@rollcall/shared/events';
import { admissionPolicyNames } from '@rollcall/shared/admission/policy-names';
import { resources } from '@rollcall/shared/kubernetes/resources';
import { verbs } from '@rollcall/shared/protocol';
import { agentRoles, type ServiceName } from '@rollcall/shared/rights';
import { rollcallVersion } from '../version.ts';

/** One metric: everything that its exposition, its counting points and its documentation are made of. */
export interface MetricDefinition {
  /** In seconds and bytes, as the name says; `info` is a constant 1 whose labels say something. */
  readonly type: 'counter' | 'gauge' | 'histogram' | 'info';
  readonly help: string;
  readonly services: readonly ServiceName[];
  /**
   * Each label with all its values: never a cluster's name, nor anything that an agent chose. Any other value is counted as
   * `other`, so that the number of series is bounded by this table.
   */
  readonly labels?: Readonly<Record<string, readonly string[]>>;
  /** Upper bounds of a histogram's buckets, rising; +Inf comes by itself. */
  readonly buckets?: readonly number[];
}

const all = [
  'registrar',
  'approver',
  'rbac-provisioner',
  'heartbeat',
  'projector',
  'account-controller',
  'agent-host',
] as const satisfies readonly ServiceName[];
/** Those that handle events from the stream; the heartbeat service only listens. */
const consuming = ['registrar', 'approver', 'rbac-provisioner', 'projector', 'account-controller'] as const;
const writing = [
  'registrar',
  'approver',
  'rbac-provisioner',
  'heartbeat',
  'account-controller',
  'agent-host',
] as const;

const eventTypes = eventCatalogue.map(({ kind, type }) => `${kind}.${type}`);
const errorCodes = Object.keys(errorCatalogue);
const kinds = [...new Set(Object.values(resources).map(({ kind }) => kind))];
/** Who let a cluster in: a person's minutes must not spoil the machine's milliseconds. */
const deciders = ['policy', 'policy-later', 'person'] as const;

/** Of `heartbeatPartition`, which takes as many; a fleet that is not in parts is part 0 of 1. */
const fleetParts = Array.from({ length: 32 }, (_, part) => part);
const ofPart = {
  part: fleetParts.map(String),
  of: fleetParts.map((part) => String(part + 1)),
};

/** Work inside one process or one round trip. */
const shortSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** A registration: tens of milliseconds by policy, a day by a person. */
const longSeconds = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600, 21_600, 86_400];

/** Every metric there is. A service can use those that name it and no others; docs/metrics.md is made from this. */
export const metricCatalogue = {
  rollcall_build: {
    type: 'info',
    help: 'Which service this is, of which version.',
    services: all,
    labels: { service: all, version: [rollcallVersion] },
  },
  rollcall_ready: {
    type: 'gauge',
    help: '1 while the service is ready, as /readyz says.',
    services: all,
  },
  rollcall_bus_connected: {
    type: 'gauge',
    help: '1 while the service is connected to the bus.',
    services: all,
  },
  rollcall_bus_reconnects_total: {
    type: 'counter',
    help: 'How often the connection to the bus was lost and came back.',
    services: all,
  },
  rollcall_event_loop_lag_seconds: {
    type: 'gauge',
    help: 'How late timers were since the last scrape.',
    services: all,
    labels: { at: ['mean', 'p99', 'max'] },
  },
  process_cpu_seconds_total: {
    type: 'counter',
    help: 'Processor time of the process, user and system.',
    services: all,
  },
  process_resident_memory_bytes: {
    type: 'gauge',
    help: 'Resident memory of the process.',
    services: all,
  },
  process_start_time_seconds: {
    type: 'gauge',
    help: 'When the process started, since the epoch of Unix.',
    services: all,
  },

  rollcall_events_written_total: {
    type: 'counter',
    help: 'Events appended to the stream, by type: decisions, transitions and outcomes.',
    services: writing,
    labels: { type: eventTypes },
  },
  rollcall_append_conflicts_total: {
    type: 'counter',
    help: 'Appends that lost a race and were decided again.',
    services: writing,
  },
  rollcall_append_duration_seconds: {
    type: 'histogram',
    help: 'How long the bus took to keep what was appended.',
    services: writing,
    buckets: shortSeconds,
  },
  rollcall_events_handled_total: {
    type: 'counter',
    help: 'Deliveries of events, by type and how they ended: `again` is delivered again, `dead` is in the dead letters, `held` waits for a newer version.',
    services: consuming,
    labels: { type: eventTypes, outcome: ['done', 'again', 'dead', 'held'] },
  },
  rollcall_event_handling_duration_seconds: {
    type: 'histogram',
    help: 'From the delivery of an event to its acknowledgement.',
    services: consuming,
    buckets: shortSeconds,
  },
  rollcall_dead_letters_total: {
    type: 'counter',
    help: 'Events that could not be handled and were moved to the dead letters; each says there why.',
    services: consuming,
  },

  rollcall_agent_requests_total: {
    type: 'counter',
    help: 'Requests of agents, by verb and reply; `malformed` and `busy` were refused unread, `ignored` not even answered.',
    services: ['registrar'],
    labels: {
      verb: verbs,
      outcome: [
        'admitted',
        'rotated',
        'waiting',
        'refused',
        'access',
        'leave',
        'done',
        'failed',
        'malformed',
        'busy',
        'ignored',
      ],
    },
  },
  rollcall_unknown_facts_total: {
    type: 'counter',
    help: 'Questions of agents with facts that this version does not know and left out: the agent is newer than its hub.',
    services: ['registrar'],
  },
  rollcall_agent_request_duration_seconds: {
    type: 'histogram',
    help: 'From receiving a request of an agent to replying, by verb.',
    services: ['registrar'],
    labels: { verb: verbs },
    buckets: shortSeconds,
  },
  rollcall_requests_total: {
    type: 'counter',
    help: 'Requests to join that were answered, by outcome: `requested` is new, `changed` says something else of one that waits, `repeated` changed nothing, otherwise the code of the refusal.',
    services: ['registrar'],
    labels: { outcome: ['requested', 'changed', 'repeated', ...errorCodes] },
  },
  rollcall_requests_open: {
    type: 'gauge',
    help: 'Requests without a decision, as the caps count them.',
    services: ['registrar'],
  },
  rollcall_events_space_used_ratio: {
    type: 'gauge',
    help: 'How full the place of the events is, by the nearest limit; from 0.85 on new requests are refused.',
    services: ['registrar'],
  },
  rollcall_callouts_total: {
    type: 'counter',
    help: 'Connections without credentials, by the role they were let in as, or that they were not; `dropped` waited too long, `temporary-blocklist` showed what a flooder was let in by.',
    services: ['registrar'],
    labels: {
      outcome: [
        ...Object.keys(agentRoles),
        'refused',
        'malformed',
        'failed',
        'dropped',
        'temporary-blocklist',
      ],
    },
  },
  rollcall_floods_total: {
    type: 'counter',
    help: 'Times that an agent was found to flood the hub with asks, and its connections were ended.',
    services: ['registrar'],
  },
  rollcall_callout_duration_seconds: {
    type: 'histogram',
    help: 'How long the server waited for the answer whether a connection may be let in.',
    services: ['registrar'],
    buckets: shortSeconds,
  },
  rollcall_admission_duration_seconds: {
    type: 'histogram',
    help: 'From the request to member credentials, by who approved it; a new key of a cluster that is in does not count.',
    services: ['registrar'],
    labels: { by: deciders },
    buckets: longSeconds,
  },

  rollcall_admission_ok: {
    type: 'gauge',
    help: '1 while the API server refuses decisions of people without the right; 0: decisions of people are held.',
    services: ['approver'],
  },
  rollcall_admission_policy_ok: {
    type: 'gauge',
    help: '1 while this admission policy and its binding are there as they were shipped; 0: missing or changed.',
    services: ['approver'],
    labels: { policy: admissionPolicyNames },
  },
  rollcall_policy_evaluations_total: {
    type: 'counter',
    help: 'Judgements by policy: `failed` had an expression that could not be evaluated, `timeout` ran out of time.',
    services: ['approver'],
    labels: { outcome: ['evaluated', 'failed', 'timeout'] },
  },
  rollcall_policy_evaluation_duration_seconds: {
    type: 'histogram',
    help: 'All policies over one request, the wait for the worker included.',
    services: ['approver'],
    buckets: [0.0005, ...shortSeconds],
  },

  rollcall_registration_duration_seconds: {
    type: 'histogram',
    help: 'From the request to the first heartbeat (joined, and ready), by who approved it.',
    services: ['heartbeat'],
    labels: { by: deciders },
    buckets: longSeconds,
  },
  rollcall_liveness_clusters: {
    type: 'gauge',
    help: 'Clusters by liveness; of a fleet in parts, those of the part that this process hears.',
    services: ['heartbeat'],
    labels: {
      ...ofPart,
      state: ['neverSeen', 'ready', 'suspect', 'unreachable', 'stopped', 'memberDown', 'flapping'],
    },
  },
  rollcall_heartbeats_total: {
    type: 'counter',
    help: 'Heartbeats of members, as this replica heard them; every replica hears all of its part.',
    services: ['heartbeat'],
    labels: ofPart,
  },
  rollcall_heartbeats_unknown_total: {
    type: 'counter',
    help: 'Heartbeats of ids that are no members.',
    services: ['heartbeat'],
    labels: ofPart,
  },
  rollcall_heartbeats_malformed_total: {
    type: 'counter',
    help: 'Messages on heartbeat subjects that are no heartbeats.',
    services: ['heartbeat'],
    labels: ofPart,
  },
  rollcall_flooding_clusters: {
    type: 'gauge',
    help: 'Clusters whose agents sent far too many heartbeats in the last window.',
    services: ['heartbeat'],
  },
  rollcall_connection_notices_total: {
    type: 'counter',
    help: 'Notices of the NATS server about connections of members, by kind.',
    services: ['heartbeat'],
    labels: { kind: ['connected', 'disconnected'] },
  },
  rollcall_heartbeat_interval_multiplier: {
    type: 'gauge',
    help: 'Agents send heartbeats so many times less often than they are set to, because the fleet is larger than heartbeatsPerSecond allows; 1 is as set.',
    services: ['heartbeat'],
  },
  rollcall_liveness_signals: {
    type: 'gauge',
    help: 'Signals of life: 2 while heartbeats and the notices of the NATS server about connections arrive; 1 while the notices do not, so that only missing heartbeats show who is gone.',
    services: ['heartbeat'],
  },
  rollcall_liveness_not_receiving_total: {
    type: 'counter',
    help: 'How often own messages did not come back, so that nobody was declared silent.',
    services: ['heartbeat'],
  },
  rollcall_outage: {
    type: 'gauge',
    help: '1 while transitions are held because a large part of the fleet went silent together.',
    services: ['heartbeat'],
  },

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

  rollcall_trust_pushes_total: {
    type: 'counter',
    help: 'Account claims pushed to the servers.',
    services: ['account-controller'],
  },
  rollcall_agent_host_members: {
    type: 'gauge',
    help: 'Members that the hub reaches by their kubeconfigs.',
    services: ['agent-host'],
  },
  rollcall_trust_revocations: {
    type: 'gauge',
    help: 'Keys on the revocation list.',
    services: ['account-controller'],
  },
  rollcall_trust_revocations_room: {
    type: 'gauge',
    help: 'Keys that the revocation list has room for.',
    services: ['account-controller'],
  },
  rollcall_trust_revocations_dropped: {
    type: 'gauge',
    help: 'Keys that the revocation list had no room for: they are in again.',
    services: ['account-controller'],
  },
  rollcall_trust_kicks_total: {
    type: 'counter',
    help: 'Rounds of ending connections that the server let be.',
    services: ['account-controller'],
  },
  rollcall_trust_refused_total: {
    type: 'counter',
    help: 'Times that claims were not signed because more than revocations would change.',
    services: ['account-controller'],
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>;

type Catalogue = typeof metricCatalogue;

export type MetricName<Type extends MetricDefinition['type'] = MetricDefinition['type']> = {
  [Name in keyof Catalogue]: Catalogue[Name]['type'] extends Type ? Name : never;
}[keyof Catalogue];

/** A value for each label of a metric; nothing for one without labels. */
export type LabelsOf<Name extends MetricName> = Catalogue[Name] extends { labels: infer Labels }
  ? [labels: { readonly [Label in keyof Labels]: string }]
  : [];
