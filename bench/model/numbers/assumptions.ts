/** A number that nobody measured, and why it is taken. */
export interface Assumption {
  readonly value: number;
  readonly unit: string;
  readonly why: string;
}

/** What is taken for granted. */
export const assumptions = {
  roundTripMs: { value: 30, unit: 'ms between an agent and its hub and back', why: 'within a continent' },
  storedMs: { value: 3, unit: 'ms until an append is on the disks of two servers', why: 'SSD, one zone' },
  routedHeartbeatUs: {
    value: 2.3,
    unit: 'µs a heartbeat that comes over a route',
    why: 'as in a flood over one connection (175,000 a second take 0.41 cores)',
  },
  passedOverShare: {
    value: 0.35,
    unit: 'of the reading of a cluster, where a heartbeat service passes over it',
    why: 'what the profile in docs/scale.md gives to the parser, to asking and to headers',
  },
  natsRequestMs: {
    value: 0.2,
    unit: 'ms a request, its answer and what is stored of it',
    why: 'a few messages as those of a join, of which some twenty take 3.4 ms',
  },
  accessShare: {
    value: 0.01,
    unit: 'of the clusters ask for the hub’s API, once an hour',
    why: 'few need it',
  },
  exceptionShare: { value: 0.01, unit: 'of the clusters are exceptions', why: 'docs/scale.md' },
  replacedAYear: { value: 1, unit: 'agents a cluster and year that get another key', why: 'docs/scale.md' },
  lostAYear: { value: 24, unit: 'times a year that a cluster is lost and returns', why: 'docs/scale.md' },
  joinShare: { value: 0.01, unit: 'of the fleet that joins at once in a burst', why: 'a large customer' },
  leaveShare: { value: 0.01, unit: 'of the fleet that leaves at once', why: 'the same' },
  outageSeconds: { value: 300, unit: 's without any NATS server', why: 'people start it again' },
  blinkSeconds: { value: 5, unit: 's without any NATS server', why: 'a supervisor starts it again' },
  silenceWithinSeconds: {
    value: 300,
    unit: 's, the most until a silent cluster is Unreachable',
    why: 'asked',
  },
  keyCutWithinSeconds: { value: 30, unit: 's, the most until every server has cut a key', why: 'asked' },
  inVainShare: {
    value: 0.1,
    unit: 'of those who return, the most whose handshakes come too late',
    why: 'asked',
  },
  backWithinSeconds: {
    value: 3600,
    unit: 's, the most until 99 % are back',
    why: 'asked; as the hub has it',
  },
  joinedWithinSeconds: { value: 600, unit: 's, the most until 99 % of a burst are Ready', why: 'asked' },
  goneWithinSeconds: {
    value: 3600,
    unit: 's, the most until 99 % of those deleted at once are gone',
    why: 'asked',
  },
  readyWithinSeconds: { value: 600, unit: 's, the most until a heartbeat service is ready', why: 'asked' },
  comparedWithinSeconds: {
    value: 3600,
    unit: 's, the most until a projector has compared all',
    why: 'asked',
  },
  diskYears: { value: 1, unit: 'years that the disk of the streams lasts without an archive', why: 'asked' },
  usableMemoryShare: {
    value: 0.85,
    unit: 'of a machine’s memory',
    why: 'the kernel and peaks have the rest',
  },
  nodeHeapBytes: {
    value: 4_294_967_296,
    unit: 'bytes of a Node without flags',
    why: 'V8’s own limit with 16 GB',
  },
  apiBytesPerStored: {
    value: 6,
    unit: 'bytes of memory of the API server a byte in etcd',
    why: 'its watch cache has objects decoded, lists and garbage come beside it',
  },
} as const satisfies Readonly<Record<string, Assumption>>;

/** How the model differs from a hub; said with each result. */
export const shape = [
  'Costs are those of a busy hub: one that does nothing else takes two to four times as much CPU for a join, because everything is cold.',
  'A core is as fast as those of the machine that the cost was measured on, and a machine does nothing else.',
  'Cores are given to whoever has waited longest; the network has room and loses nothing.',
  'A server of a hub of several takes its even share of the connections; the leader of stream EVENTS is one server.',
  'Heartbeats are not followed one by one: what they take of each machine makes everything else there slower.',
] as const;

export type AssumptionName = keyof typeof assumptions;
