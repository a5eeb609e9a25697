import { deciders, longSeconds, type MetricTable } from './metric-definition.ts';

/** Of `heartbeatPartition`, which takes as many; a fleet that is not in parts is part 0 of 1. */
const fleetParts = Array.from({ length: 32 }, (_, part) => part);
const ofPart = {
  part: fleetParts.map(String),
  of: fleetParts.map((part) => String(part + 1)),
};

/** Of the heartbeat service. */
export const heartbeatMetrics = {
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
} as const satisfies MetricTable;
