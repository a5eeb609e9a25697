/** The part of the fleet that one process listens to: of `count` parts the one with that number. */
export interface HeartbeatPartition {
  readonly number: number;
  readonly count: number;
}

/** As many as the labels of the metrics know (metric-catalogue.ts). */
export const mostParts = 32;

/** Reads `0/2`, as it stands in the settings. @returns undefined when it is none, or one of more than `mostParts` */
export function parsePartition(text: string): HeartbeatPartition | undefined {
  const [, number, count] = /^(\d{1,3})\/(\d{1,3})$/.exec(text) ?? [];
  const partition = { number: Number(number), count: Number(count) };
  const isOne = partition.number < partition.count && partition.count <= mostParts;
  return isOne ? partition : undefined;
}

/** What heartbeats are heard on: where the server spreads them, and where they come as long as it does not. */
export function heartbeatSubjects(partition: HeartbeatPartition | undefined): readonly string[] {
  return [
    'rollcall.heartbeat.*',
    partition ? `rollcall.heartbeat-partition.${partition.number}.*` : 'rollcall.heartbeat-partition.*.*',
  ];
}

/**
 * Whether the server maps the heartbeats of a cluster to that part: `partition(n, …)` of its subject mapping is FNV-1a of the token
 * in 32 bits, modulo n (nats-server 2.15; tested against it).
 */
export function isInPartition(partition: HeartbeatPartition | undefined, clusterId: string): boolean {
  if (!partition) return true;
  let hash = 0x81_1c_9d_c5;
  for (const byte of Buffer.from(clusterId, 'latin1')) hash = Math.imul(hash ^ byte, 0x01_00_01_93) >>> 0;
  return hash % partition.count === partition.number;
}
