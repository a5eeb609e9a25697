import { z } from 'zod';
import { defineEvent } from '../define-event.ts';

/** The heartbeat service's section of a cluster: whether it is alive. All times are hub time. */
export const livenessSchema = z.looseObject({
  state: z.enum(['ready', 'suspect', 'unreachable', 'stopped']),
  /** The key whose heartbeats were heard. */
  key: z.string(),
  /**
   * CamelCase, the reason of the Ready condition. With state ready: Alive, MemberAPIDown, Flapping (the last two are not
   * Ready=True); suspect: ConnectionLost, NoHeartbeats, OutageHeld; unreachable: Unreachable; stopped: AgentStopped.
   */
  cause: z.string(),
  joinedAtMs: z.int(),
  sinceMs: z.int(),
  lastHeartbeatAtMs: z.int(),
  /** When it was lost lately; as many as are needed to tell whether it flaps, oldest first. */
  lossesAtMs: z.array(z.int()).optional(),
  /** Two agents use the key, in two places; absent otherwise. */
  keySharedSinceMs: z.int().optional(),
  /** The last flood that was reported: of `heartbeats` in `seconds`, as one replica counted them, or of `connections` that were open at once. */
  flood: z
    .looseObject({
      atMs: z.int(),
      heartbeats: z.int(),
      seconds: z.number(),
      connections: z.int().optional(),
    })
    .optional(),
});
export type Liveness = z.infer<typeof livenessSchema>;

const cluster = { kind: 'cluster', writer: 'heartbeat', section: livenessSchema } as const;

export const joined = defineEvent({
  ...cluster,
  type: 'joined',
  description:
    'The first heartbeat after admitted: the cluster has joined and is ready. Repeated only after a new admission.',
});
export const ready = defineEvent({
  ...cluster,
  type: 'ready',
  description:
    'Heartbeats are back after suspect, unreachable or stopped, the API server of the member after member-down, or the cluster has stopped flapping.',
});
export const suspect = defineEvent({
  ...cluster,
  type: 'suspect',
  description:
    'The last connection went away and did not return within 2 s, or a heartbeat is overdue. Followed by ready or unreachable.',
});
export const unreachable = defineEvent({
  ...cluster,
  type: 'unreachable',
  description: 'No heartbeat for the whole grace. Followed by ready.',
});
export const stopped = defineEvent({
  ...cluster,
  type: 'stopped',
  description:
    'The agent said goodbye before it stopped. Followed by ready, or by flapping. Not written while it flaps, unless it stays away for the whole grace.',
});

export const memberDown = defineEvent({
  ...cluster,
  type: 'member-down',
  description:
    'The agent sends heartbeats, and says that the API server of its member does not answer. Followed by ready, or by whatever follows ready.',
});
export const flapping = defineEvent({
  ...cluster,
  type: 'flapping',
  description:
    'Heartbeats are back, for the fourth time within ten minutes (settable). Losses and goodbyes are not written any more until it has been heard without a gap for two minutes (ready), or not at all for the whole grace (unreachable).',
});

export const keyShared = defineEvent({
  ...cluster,
  type: 'key-shared',
  description:
    'Two agents use the key of this cluster: both are connected, and both send heartbeats. Shown as CredentialsValid=False, KeyInUseTwice. Followed by key-unshared.',
});
export const keyUnshared = defineEvent({
  ...cluster,
  type: 'key-unshared',
  description: 'One agent alone uses the key again.',
});

export const flooding = defineEvent({
  ...cluster,
  type: 'flooding',
  description:
    'The agent of this cluster sends heartbeats far more often than any agent of ours does, or has far more connections. Says nothing of whether it is alive. Repeated at most once in ten minutes while it goes on.',
});

const outageSchema = z.looseObject({
  silent: z.int(),
  known: z.int(),
  sinceMs: z.int(),
  /** What those clusters have in common; absent: it is the whole fleet. */
  group: z.looseObject({ kind: z.enum(['server', 'set']), name: z.string() }).optional(),
});
export type Outage = z.infer<typeof outageSchema>;

export const outage = defineEvent({
  kind: 'hub',
  writer: 'heartbeat',
  section: outageSchema,
  type: 'outage',
  description:
    'A large part of the fleet, or of the clusters of one NATS server or one set, went silent together; their transitions are held. Followed by outage-ended.',
});
export const outageEnded = defineEvent({
  kind: 'hub',
  writer: 'heartbeat',
  section: outageSchema,
  type: 'outage-ended',
  description: 'Heartbeats are back, or the deadline has passed; held transitions are taken.',
});

const intervalChangedSchema = z.looseObject({
  /** Agents wait so many times the interval that they are set to; 1: no longer than that. */
  multiplier: z.number().min(1),
  before: z.number().min(1),
  nominalPerSecond: z.int(),
  ceilingPerSecond: z.number(),
  sinceMs: z.int(),
  /** Of which size the fleet was taken to be. */
  clusters: z.int().optional(),
  /** Over how long agents spread their return after an outage; absent while the fleet is small enough to come as it likes. */
  returnWithinMs: z.int().optional(),
  /** What it was before: until all have heard of a shorter one, the longer one counts. */
  returnBeforeMs: z.int().optional(),
});
export type IntervalChanged = z.infer<typeof intervalChangedSchema>;

export const intervalChanged = defineEvent({
  kind: 'hub',
  writer: 'heartbeat',
  section: intervalChangedSchema,
  type: 'interval-changed',
  description:
    'The fleet has grown past the heartbeats a second that the hub takes (or fits again): intervals and graces are that many times what they are set to. Or its size has changed so much that its agents spread their return after an outage over another time. Agents hear it within an hour.',
});
