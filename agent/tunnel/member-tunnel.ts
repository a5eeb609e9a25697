import type { KubeAccess } from '@rollcall/shared/kubernetes';
import type { Logger } from '@rollcall/shared/service';
import {
  aliveEveryMs,
  aliveWord,
  boundKept,
  deadAfterMs,
  downOf,
  frameSubject,
  placeOf,
  readStreamRequest,
  type StreamRequest,
  TunnelStream,
} from '@rollcall/shared/tunnel';
import { toRollcallError } from '@rollcall/shared/errors';
import type { HubRefusal } from './hub-permission.ts';
import { openMemberHttp } from './member-http.ts';
import type { MemberAccess } from './impersonation.ts';
import { refuse, serveStream } from './serve-stream.ts';

/** A connection to the hub, as far as streams need one. */
export interface TunnelLink {
  readonly closed: Promise<void>;
  isClosed(): boolean;
  /** So much was published and has not gone out. */
  waitingBytes(): number;
  publish(subject: string, data: Uint8Array): void;
  subscribe(subject: string, hear: (data: Uint8Array, subject: string) => void): void;
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** Answers what people of the hub ask of this member. */
export interface MemberTunnel {
  /** A stream shall be opened; of what is no request nothing comes. */
  open(message: Uint8Array): void;
  isBusy(): boolean;
  endAll(why: string): void;
  stop(): Promise<void>;
}

interface Place {
  readonly gateway: string;
  readonly stream: string;
}
interface OpenStream extends Place {
  readonly end: TunnelStream;
  readonly openedAtMs: number;
}

/** More than people open, and few enough that an agent stays small. */
const mostStreams = 500;
/** For a member that does not read what people send, in all: an agent has little memory. */
const mostKeptBytes = 8 * 1024 * 1024;
/** For a line that is slower than the member, in all; what does not fit waits in the member. Two windows: one stream alone never waits for it. */
const mostWaitingBytes = 2 * 1024 * 1024;
/** The connection for it is kept a little: people type one command after the other. */
const idleMs = 60_000;

/** Its body could not come, and nobody would hear that the other side is gone. */
const lost: HubRefusal = { refused: 'busy', why: 'the connection to the hub was lost; try again' };

const keyOf = ({ gateway, stream }: Place): string => `${gateway}.${stream}`;

export function createMemberTunnel(options: {
  readonly clusterId: string;
  readonly access: MemberAccess;
  readonly member: KubeAccess;
  readonly version: string;
  readonly logger: Logger;
  /** A connection of its own, so that heartbeats and renewals do not wait behind what is copied. */
  dial(): Promise<TunnelLink>;
  /** The connection that is always there: what ends a stream still gets out by it. */
  ownLink(): Pick<TunnelLink, 'publish'> | undefined;
  /** Why the hub lets nobody in; never rejects. */
  refusal(): Promise<HubRefusal | undefined>;
  /** The same by what is known at this moment. */
  refusalNow(): HubRefusal | undefined;
}): MemberTunnel {
  const { clusterId, access, logger } = options;
  const streams = new Map<string, OpenStream>();
  const onKept = boundKept(ends, mostKeptBytes);
  /** When each replica of the gateway was heard last. */
  const heardAtMs = new Map<string, number>();
  const http = openMemberHttp(options.member, access, options.version);
  let link: Promise<TunnelLink> | undefined;
  /** The same, once it stands. */
  let connected: TunnelLink | undefined;
  let idle: NodeJS.Timeout | undefined;
  let looking: NodeJS.Timeout | undefined;
  /** Requests that wait for the connection. */
  let waiting = 0;
  let isStopped = false;

  function* ends(): Generator<TunnelStream> {
    for (const { end } of streams.values()) yield end;
  }

  function hear(data: Uint8Array, subject: string): void {
    const place = placeOf(subject);
    if (!place) return;
    // Of one without a stream here nothing is kept, nor read: a name costs its sender nothing.
    if (!heardAtMs.has(place.gateway)) return;
    heardAtMs.set(place.gateway, performance.now());
    if (place.stream === aliveWord) answerAlive(place.gateway, data);
    else streams.get(keyOf(place))?.end.hear(data);
  }

  /** Each says which streams it has: what the other does not have any more has lost its end on the way. */
  function answerAlive(gateway: string, data: Uint8Array): void {
    const own = [...streams.values()].filter((one) => one.gateway === gateway);
    const there = new Set(Buffer.from(data).toString('latin1').split(','));
    for (const { stream, end, openedAtMs } of own)
      if (!there.has(stream) && performance.now() - openedAtMs > 2 * aliveEveryMs)
        end.destroy(new Error('the hub has this stream no more'));
    const ids = own.map(({ stream }) => stream).join(',');
    if (own.length > 0)
      connected?.publish(
        frameSubject('up', clusterId, { gateway, stream: aliveWord }),
        Buffer.from(ids, 'latin1'),
      );
  }

  function look(): void {
    for (const { gateway, end } of streams.values())
      if (performance.now() - (heardAtMs.get(gateway) ?? 0) > deadAfterMs)
        end.destroy(new Error('the gateway of the hub is not heard any more'));
  }

  async function connect(): Promise<TunnelLink> {
    const opened = await options.dial();
    if (isStopped) {
      await opened.close();
      throw new Error('the agent stops');
    }
    connected = opened;
    opened.subscribe(downOf(clusterId), hear);
    await opened.flush();
    looking = setInterval(look, aliveEveryMs);
    void afterwards(opened);
    return opened;
  }

  /** What is asked from now on gets another connection. */
  function letGo(): void {
    clearInterval(looking);
    looking = undefined;
    link = undefined;
    connected = undefined;
  }

  async function afterwards(opened: TunnelLink): Promise<void> {
    await opened.closed;
    if (connected !== opened) return;
    letGo();
    heardAtMs.clear();
    endAll('the connection to the hub was lost');
  }

  function endAll(why: string): void {
    for (const { end } of streams.values()) end.destroy(new Error(why));
  }

  function openLink(): Promise<TunnelLink> {
    clearTimeout(idle);
    idle = undefined;
    if (link === undefined) {
      link = connect();
      link.catch((error: unknown) => {
        link = undefined;
        if (!isStopped)
          logger.warn({ err: toRollcallError(error) }, 'no connection for what people ask of the member');
      });
    }
    return link;
  }

  function closed(place: Place): void {
    streams.delete(keyOf(place));
    if (!streams.values().some(({ gateway }) => gateway === place.gateway)) heardAtMs.delete(place.gateway);
    if (streams.size > 0) return;
    if (idle !== undefined || isStopped) return;
    idle = setTimeout(() => {
      idle = undefined;
      // Who has come since waited to be let in when the last stream ended; with its own end it begins again.
      if (streams.size + waiting > 0) return;
      const unused = connected;
      // First: while it closes it drops what it is given.
      letGo();
      void unused?.close();
    }, idleMs);
    idle.unref();
  }

  /** One after the other: what is shut while it connects is shut. */
  async function admit() {
    const open = await openLink();
    return { open, refused: await options.refusal() };
  }

  async function answer(request: StreamRequest): Promise<void> {
    const { gateway, stream } = request;
    waiting++;
    const { open, refused } = await admit().finally(() => waiting--);
    if (isStopped || streams.has(keyOf(request))) return;
    heardAtMs.set(gateway, performance.now());
    const subject = frameSubject('up', clusterId, request);
    const end = new TunnelStream({
      side: 'opened',
      hasBody: request.hasBody || request.upgrade !== undefined,
      send: (frame) => (open.isClosed() ? options.ownLink() : open)?.publish(subject, frame),
      onClosed: () => closed(request),
      onKept,
      hasRoom: () => open.isClosed() || open.waitingBytes() < mostWaitingBytes,
    });
    const isFull = streams.size >= mostStreams;
    streams.set(keyOf(request), { gateway, stream, end, openedAtMs: performance.now() });
    // Shut since it was asked: there was no stream yet that this could have ended.
    const refusal = refused ?? options.refusalNow() ?? (open.isClosed() ? lost : undefined);
    if (isFull) refuse(end, 'busy', `the agent carries ${mostStreams} streams already`);
    else if (refusal !== undefined) refuse(end, refusal.refused, refusal.why);
    else await serveStream(end, request, { http, access });
  }

  return {
    open(message) {
      const request = readStreamRequest(message);
      // Twice the bound are not even refused any more.
      if (!request || isStopped || streams.size + waiting >= 2 * mostStreams) return;
      void answer(request).catch(() => undefined);
    },
    isBusy: () => streams.size > 0,
    endAll,
    async stop() {
      isStopped = true;
      clearTimeout(idle);
      endAll('the agent stops');
      http.close();
      await link?.catch(() => undefined);
      await connected?.close();
      clearInterval(looking);
    },
  };
}
