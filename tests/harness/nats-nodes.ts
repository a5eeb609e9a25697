import type { NatsConnection } from '@nats-io/transport-node';
import { streamManager } from '@rollcall/shared/bus';
import type { NatsNode } from '../../cli/up/nats/nats-cluster.ts';

/** Which server leads a stream now; undefined while they have not agreed. */
export async function leaderOf(
  nc: NatsConnection,
  nodes: readonly NatsNode[],
  stream = 'EVENTS',
): Promise<NatsNode | undefined> {
  const jsm = await streamManager(nc);
  const info = await jsm.streams.info(stream).catch(() => undefined);
  const number = /^hub-(\d+)$/.exec(info?.cluster?.leader ?? '')?.[1];
  return number === undefined ? undefined : nodes[Number(number) - 1];
}

/** Whether every server has all that the leader has; false while nobody answers. */
export async function areAllCurrent(nc: NatsConnection, stream = 'EVENTS'): Promise<boolean> {
  const jsm = await streamManager(nc);
  const info = await jsm.streams.info(stream).catch(() => undefined);
  const replicas = info?.cluster?.replicas ?? [];
  return replicas.length > 0 && replicas.every(({ current, offline }) => current && offline !== true);
}

/** As a machine that hangs: nothing answers and nothing breaks. */
export function pause(node: NatsNode): void {
  process.kill(node.server().pid, 'SIGSTOP');
}
export function goOn(node: NatsNode): void {
  process.kill(node.server().pid, 'SIGCONT');
}
