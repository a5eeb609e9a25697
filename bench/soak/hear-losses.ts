import type { NatsConnection } from '@nats-io/transport-node';

export interface Losses {
  /** Each time that a cluster was said to be anything but ready. */
  heard(): readonly { readonly clusterId: string; readonly atMs: number }[];
  stop(): void;
}

/** What the heartbeat service says at once of a cluster, before anything is stored. */
export function hearLosses(nc: NatsConnection): Losses {
  const heard: { clusterId: string; atMs: number }[] = [];
  const subscription = nc.subscribe('rollcall.live.*', {
    callback: (error, message) => {
      if (error || message.json<{ state: string }>().state === 'ready') return;
      heard.push({ clusterId: message.subject.split('.')[2] ?? '', atMs: Date.now() });
    },
  });
  return { heard: () => heard, stop: () => subscription.unsubscribe() };
}
