import { errorCatalogue } from '@rollcall/shared/errors';
import { verbs } from '@rollcall/shared/protocol';
import { agentRoles } from '@rollcall/shared/rights';
import { deciders, longSeconds, type MetricTable, shortSeconds } from './metric-definition.ts';

const errorCodes = Object.keys(errorCatalogue);

/** Of the registrar. */
export const registrarMetrics = {
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
} as const satisfies MetricTable;
