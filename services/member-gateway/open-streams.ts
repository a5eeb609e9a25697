import { randomBytes } from 'node:crypto';
import type { NatsConnection, Subscription } from '@nats-io/transport-node';
import {
  aliveEveryMs,
  aliveWord,
  boundKept,
  frameSubject,
  longestRequestBytes,
  openSubject,
  placeOf,
  type StreamRequest,
  streamRequestIn,
  streamVersion,
  TunnelAborted,
  TunnelStream,
  upOf,
} from '@rollcall/shared/tunnel';
import { createFrameBudget } from './cluster-frame-rate.ts';
import { whyLost } from './why-stream-lost.ts';

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
   * @returns undefined where the request is too long for it, or one that it does not pass on
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
    /** Whether the cluster has said more than is read: nothing is opened to it for a while. */
    readonly saysTooMuch: boolean;
  };
  /** Ends all streams to a cluster. */
  endThose(clusterId: string, why: string): void;
  /** Whether what is said reaches anybody: while the bus is away it is lost, and not kept until it is back. */
  isConnected(): boolean;
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
/** More than an agent carries: what it says of more is not read. */
const mostNamed = 1000;

function endIf({ end }: OpenStream, why: string | undefined): boolean {
  if (why !== undefined) end.destroy(new TunnelAborted(why));
  return why !== undefined;
}

/**
 * The streams of this replica, under a name of its own that no other replica has. It hears a cluster only while there are streams to
 * it: the server throws away what one says that has none.
 */
export function createOpenStreams(nc: NatsConnection): Streams {
  const gateway = randomBytes(8).toString('hex');
  const streams = new Map<string, OpenStream>();
  const byPerson = new Map<string, number>();
  /** A message of one agent costs no more than its own streams. */
  const byCluster = new Map<string, Map<string, OpenStream>>();
  /** Of each person to each member. */
  const byBoth = new Map<string, number>();
  const heardAtMs = new Map<string, number>();
  const subscriptions = new Map<string, Subscription>();
  const budget = createFrameBudget();
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
    const open = streams.get(stream);
    // The server lets an agent speak on the subjects of its own cluster only; that this is a stream of it is ours to see to.
    const isOfStream = open?.clusterId === clusterId;
    if (budget.spend(clusterId, { isOfStream, bytes: data.length })) {
      endThose(clusterId, 'its agent says more than is read');
      return;
    }
    if (stream === aliveWord) {
      if (byCluster.has(clusterId)) hearAlive(clusterId, data);
      return;
    }
    if (open === undefined || !isOfStream) {
      stray++;
      return;
    }
    heardAtMs.set(clusterId, performance.now());
    open.hasHeard = true;
    open.end.hear(data);
  }

  function listen(clusterId: string): void {
    const heard = nc.subscribe(upOf(clusterId, gateway), {
      callback: (error, message) => void (error === null && hear(message.subject, message.data)),
    });
    subscriptions.set(clusterId, heard);
  }

  function endThose(clusterId: string, why: string): void {
    for (const { end } of streamsOf(clusterId).values()) end.destroy(new TunnelAborted(why));
  }

  const streamsOf = (clusterId: string) => byCluster.get(clusterId) ?? new Map<string, OpenStream>();

  function hearAlive(clusterId: string, data: Uint8Array): void {
    if (data.length > mostNamed * (counter.toString(36).length + 1)) return;
    heardAtMs.set(clusterId, performance.now());
    const there = new Set(Buffer.from(data).toString('latin1').split(','));
    for (const [stream, open] of streamsOf(clusterId)) {
      const isThere = there.has(stream);
      if (isThere) open.hasHeard = true;
      endIf(open, whyLost(open, { nowMs: performance.now(), isThere }));
    }
  }

  function look(): void {
    const nowMs = performance.now();
    budget.tidy();
    for (const [clusterId, own] of byCluster) {
      const at = { nowMs, heardAtMs: heardAtMs.get(clusterId) };
      const ids = [...own].filter(([, open]) => !endIf(open, whyLost(open, at))).map(([stream]) => stream);
      if (ids.length > 0)
        nc.publish(frameSubject('down', clusterId, { gateway, stream: aliveWord }), ids.join(','));
    }
  }

  const timer = setInterval(look, aliveEveryMs);
  const endAll = (why: string) => {
    for (const { end } of streams.values()) end.destroy(new TunnelAborted(why));
  };
  let isConnected = true;
  async function followConnection(): Promise<void> {
    for await (const { type } of nc.status()) {
      if (type === 'reconnect') isConnected = true;
      if (type !== 'disconnect') continue;
      isConnected = false;
      endAll('the gateway lost its connection to the bus');
    }
  }
  void followConnection();

  return {
    open({ clusterId, person }, asked) {
      const stream = (++counter).toString(36);
      const request: StreamRequest = { ...asked, version: streamVersion, gateway, stream };
      const message = Buffer.from(JSON.stringify(request), 'utf8');
      if (message.length > longestRequestBytes || !streamRequestIn(request)) return undefined;
      const subject = frameSubject('down', clusterId, { gateway, stream });
      const end = new TunnelStream({
        side: 'opening',
        hasBody: asked.hasBody,
        send: (frame) => void (nc.isClosed() || nc.publish(subject, frame)),
        onClosed() {
          streams.delete(stream);
          added(byPerson, person, -1);
          added(byBoth, `${clusterId} ${person}`, -1);
          const own = streamsOf(clusterId);
          own.delete(stream);
          if (own.size > 0) return;
          byCluster.delete(clusterId);
          heardAtMs.delete(clusterId);
          subscriptions.get(clusterId)?.unsubscribe();
          subscriptions.delete(clusterId);
        },
        onKept,
      });
      added(byPerson, person, 1);
      added(byBoth, `${clusterId} ${person}`, 1);
      const open = { clusterId, person, end, openedAtMs: performance.now(), hasHeard: false };
      streams.set(stream, open);
      byCluster.set(clusterId, streamsOf(clusterId).set(stream, open));
      // Before it is asked: the server has both in this order.
      if (!subscriptions.has(clusterId)) listen(clusterId);
      nc.publish(openSubject(clusterId), message);
      return end;
    },
    count: ({ clusterId, person }) => ({
      ofPerson: byPerson.get(person) ?? 0,
      ofPersonToMember: byBoth.get(`${clusterId} ${person}`) ?? 0,
      toMember: streamsOf(clusterId).size,
      inAll: streams.size,
      saysTooMuch: budget.isOver(clusterId),
    }),
    endThose,
    isConnected: () => isConnected && !nc.isClosed(),
    strayFrames: () => stray,
    stop() {
      endAll('the gateway stops');
      clearInterval(timer);
    },
  };
}
