import { randomBytes } from 'node:crypto';
import type { NatsConnection } from '@nats-io/transport-node';
import {
  aliveEveryMs,
  aliveWord,
  boundKept,
  frameSubject,
  longestRequestBytes,
  openSubject,
  placeOf,
  type StreamRequest,
  streamVersion,
  TunnelAborted,
  TunnelStream,
  upTo,
} from '@rollcall/shared/tunnel';
import { whyLost } from './why-lost.ts';

interface OpenStream {
  readonly clusterId: string;
  readonly person: string;
  readonly end: TunnelStream;
  readonly openedAtMs: number;
  hasHeard: boolean;
}

export interface Streams {
  /**
   * Opens a stream to the agent of a cluster.
   * @returns undefined where the request is too long for it
   */
  open(
    to: { readonly clusterId: string; readonly person: string },
    request: Omit<StreamRequest, 'version' | 'gateway' | 'stream'>,
  ): TunnelStream | undefined;
  count(of: { readonly clusterId: string; readonly person: string }): {
    readonly ofPerson: number;
    readonly ofPersonToMember: number;
    readonly toMember: number;
    readonly inAll: number;
  };
  /** Ends all streams to a cluster. */
  endThose(clusterId: string, why: string): void;
  /** Frames that came for a stream which is not the sender's, or for none. */
  strayFrames(): number;
  stop(): void;
}

function added(counts: Map<string, number>, key: string, by: 1 | -1): void {
  const now = (counts.get(key) ?? 0) + by;
  if (now <= 0) counts.delete(key);
  else counts.set(key, now);
}

/** For clients that do not read, in all: a fraction of what so many windows would be. */
const mostKeptBytes = 256 * 1024 * 1024;

function endIf({ end }: OpenStream, why: string | undefined): boolean {
  if (why !== undefined) end.destroy(new TunnelAborted(why));
  return why !== undefined;
}

/** The streams of this replica. It has one subscription for all of them, under a name of its own that no other replica has. */
export function createStreams(nc: NatsConnection): Streams {
  const gateway = randomBytes(8).toString('hex');
  const streams = new Map<string, OpenStream>();
  const byPerson = new Map<string, number>();
  const byCluster = new Map<string, number>();
  /** Of each person to each member. */
  const byBoth = new Map<string, number>();
  const heardAtMs = new Map<string, number>();
  const onKept = boundKept(ends, mostKeptBytes);
  let counter = 0;
  let stray = 0;

  function* ends(): Generator<TunnelStream> {
    for (const { end } of streams.values()) yield end;
  }

  function hear(subject: string, data: Uint8Array): void {
    const place = placeOf(subject);
    if (!place) return;
    const { clusterId, stream } = place;
    if (stream === aliveWord) {
      if (byCluster.has(clusterId)) hearAlive(clusterId, data);
      return;
    }
    const open = streams.get(stream);
    // The server lets an agent speak on the subjects of its own cluster only; that this is a stream of it is ours to see to.
    if (open === undefined || open.clusterId !== clusterId) {
      stray++;
      return;
    }
    heardAtMs.set(clusterId, performance.now());
    open.hasHeard = true;
    open.end.hear(data);
  }

  function hearAlive(clusterId: string, data: Uint8Array): void {
    heardAtMs.set(clusterId, performance.now());
    const there = new Set(Buffer.from(data).toString('latin1').split(','));
    for (const [stream, open] of streams) {
      if (open.clusterId !== clusterId) continue;
      const isThere = there.has(stream);
      if (isThere) open.hasHeard = true;
      endIf(open, whyLost(open, { nowMs: performance.now(), isThere }));
    }
  }

  function look(): void {
    const nowMs = performance.now();
    const idsOf = new Map<string, string[]>();
    for (const [stream, open] of streams) {
      const isLost = endIf(open, whyLost(open, { nowMs, heardAtMs: heardAtMs.get(open.clusterId) }));
      if (!isLost) idsOf.set(open.clusterId, [...(idsOf.get(open.clusterId) ?? []), stream]);
    }
    for (const [clusterId, ids] of idsOf)
      nc.publish(frameSubject('down', clusterId, { gateway, stream: aliveWord }), ids.join(','));
  }

  const subscription = nc.subscribe(upTo(gateway), {
    callback: (error, message) => void (error === null && hear(message.subject, message.data)),
  });
  const timer = setInterval(look, aliveEveryMs);
  const endAll = (why: string) => {
    for (const { end } of streams.values()) end.destroy(new TunnelAborted(why));
  };
  async function followConnection(): Promise<void> {
    for await (const { type } of nc.status())
      if (type === 'disconnect') endAll('the gateway lost its connection to the bus');
  }
  void followConnection();

  return {
    open({ clusterId, person }, asked) {
      const stream = (++counter).toString(36);
      const request: StreamRequest = { ...asked, version: streamVersion, gateway, stream };
      const message = Buffer.from(JSON.stringify(request), 'utf8');
      if (message.length > longestRequestBytes) return undefined;
      const subject = frameSubject('down', clusterId, { gateway, stream });
      const end = new TunnelStream({
        side: 'opening',
        hasBody: asked.hasBody,
        send: (frame) => void (nc.isClosed() || nc.publish(subject, frame)),
        onClosed() {
          streams.delete(stream);
          added(byPerson, person, -1);
          added(byCluster, clusterId, -1);
          added(byBoth, `${clusterId} ${person}`, -1);
          if (!byCluster.has(clusterId)) heardAtMs.delete(clusterId);
        },
        onKept,
      });
      added(byPerson, person, 1);
      added(byCluster, clusterId, 1);
      added(byBoth, `${clusterId} ${person}`, 1);
      streams.set(stream, { clusterId, person, end, openedAtMs: performance.now(), hasHeard: false });
      nc.publish(openSubject(clusterId), message);
      return end;
    },
    count: ({ clusterId, person }) => ({
      ofPerson: byPerson.get(person) ?? 0,
      ofPersonToMember: byBoth.get(`${clusterId} ${person}`) ?? 0,
      toMember: byCluster.get(clusterId) ?? 0,
      inAll: streams.size,
    }),
    endThose(clusterId, why) {
      for (const open of streams.values())
        if (open.clusterId === clusterId) open.end.destroy(new TunnelAborted(why));
    },
    strayFrames: () => stray,
    stop() {
      endAll('the gateway stops');
      clearInterval(timer);
      subscription.unsubscribe();
    },
  };
}
