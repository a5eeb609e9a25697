import { eventCatalogue } from '@rollcall/shared/events';
import type { ServiceName } from '@rollcall/shared/rights';
import { rollcallVersion } from '../version.ts';
import { type MetricTable, shortSeconds } from './metric-definition.ts';

const all = [
  'registrar',
  'approver',
  'rbac-provisioner',
  'heartbeat',
  'projector',
  'account-controller',
  'agent-host',
  'member-gateway',
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

/** What several services have: the process, its connection, and what is written and handled. */
export const commonMetrics = {
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
} as const satisfies MetricTable;
