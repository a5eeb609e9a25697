/** As the wall and the counts know clusters; the words of the objects stay beside it in `reason`. */
export const clusterStates = ['ready', 'unknown', 'notReady', 'expected', 'out'] as const;
export type ClusterState = (typeof clusterStates)[number];

/** By what the hub has said of the heartbeats of a cluster that is in. */
export const stateOfLiveness = {
  neverSeen: 'expected',
  ready: 'ready',
  suspect: 'unknown',
  unreachable: 'notReady',
  stopped: 'notReady',
  memberDown: 'notReady',
  flapping: 'notReady',
} as const satisfies Record<string, ClusterState>;

export interface ClusterRow {
  readonly name: string;
  readonly id?: string;
  readonly state: ClusterState;
  /** It asks to come in, and a person decides. */
  readonly isWaiting?: true;
  /** Of the condition that gives the state. */
  readonly reason: string;
  /** Left out of those that are Ready: it is the same for all. */
  readonly message?: string;
  readonly sinceMs: number;
  /** Undefined: heartbeats are coming. */
  readonly lastSeenMs?: number;
  readonly set?: string;
  /** To which its agent connected last, as far as the heartbeat service was asked. */
  readonly server?: string;
  readonly version?: string;
  readonly nodes?: readonly [ready: number, total: number];
  readonly labels?: Readonly<Record<string, string>>;
  readonly isCordoned?: true;
}
