import { createHash, randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { toRollcallError } from '@rollcall/shared/errors';
import { KubeApiError } from '@rollcall/shared/kubernetes';
import type { Logger } from '@rollcall/shared/service';
import type { PageFile } from '../page-files.ts';
import { createPersonConsole } from '../console-of-person.ts';
import type { ConsoleHub } from '../start-console.ts';
import { limitConcurrency } from './limit-concurrency.ts';
import { makeRoom, sessionEnd, type SessionLife, type SessionLimits, whyOver } from './session-rules.ts';

export interface Session extends SessionLife {
  /**
   * Answers this person, who was admitted.
   * @param outgoing - by which the answer is sent; until it is closed the request is under way
   * @returns undefined where as many requests of theirs are under way as may be
   */
  answer(request: Request, outgoing: ServerResponse): Promise<Response> | undefined;
}

/** Why somebody is not let in: the API server does not know the token, or did not answer, or there is no room, or too many ask at once. */
export type SignInRefusal = 'unknown' | 'away' | 'full' | 'busy';

/** Who is signed in. A token is nowhere but in the memory of its session. */
export interface Sessions extends AsyncDisposable {
  /**
   * @param as - the secret by which the session is found again
   * @param insteadOf - that of the session which ends when this one begins
   */
  open(token: string, as: string, insteadOf?: string): Promise<Session | SignInRefusal>;
  /** Of that secret, as long as it lasts; it counts as used. */
  of(secret: string | undefined): Session | undefined;
  close(secret: string | undefined): void;
}

interface OpenSession extends Session {
  usedAtMs: number;
  end(why: string): Promise<void>;
  isStillKnown(): Promise<boolean>;
}

/** The API server is asked about so many tokens at once, whoever makes them up. */
const mostAskedAtOnce = 8;
/** Those who wait for that among them: a whole team after a restart, and what a minute of an attack may keep in memory. */
const mostSigningIn = 256;
/**
 * By a proxy the pages of a session that ends for another come back by themselves, and end another one in their turn: each reads the
 * whole fleet, so that may happen a few times an hour.
 */
const openForMs = 900_000;
const lookEveryMs = 5000;
/** Of one session, streams of pages among them: more than browsers ask at once, and few enough to be paid for by all the others. */
const mostUnderWay = 32;

/** 256 bits: nobody guesses it. */
export const sessionSecret = (): string => randomBytes(32).toString('base64url');

/** Secrets are found by their hash, so that how long that takes says nothing of them. */
const keyOf = (secret: string): string => createHash('sha256').update(secret).digest('base64url');

const isUnknown = (thrown: unknown): boolean => thrown instanceof KubeApiError && thrown.status === 401;

export function createSessions({
  openHub,
  files,
  signIn,
  limits,
  logger,
}: {
  /** The hub, as the person of that token. */
  openHub(token: string): ConsoleHub;
  readonly files: ReadonlyMap<string, PageFile>;
  readonly signIn: 'form' | 'proxy';
  readonly limits: SessionLimits;
  readonly logger: Logger;
}): Sessions {
  const sessions = new Map<string, OpenSession>();
  const limited = limitConcurrency(mostAskedAtOnce);
  /** Of one secret, by whoever asks first: a page asks for many things at once. */
  const opening = new Map<string, Promise<Session | SignInRefusal>>();
  /** Of those who are asked about now. */
  const askedBy = new Set<ConsoleHub>();
  let isEnding = false;

  async function open(
    token: string,
    { key, replaced }: { key: string; replaced: string | undefined },
  ): Promise<Session | SignInRefusal> {
    await using making = new AsyncDisposableStack();
    const hub = openHub(token);
    making.defer(() => hub.client.close());
    const person = await limited(async () => {
      if (isEnding) return undefined;
      askedBy.add(hub);
      return hub.person().finally(() => askedBy.delete(hub));
    });
    if (isEnding) return 'away';
    if (person === undefined || person === 'system:anonymous') return 'unknown';
    const before = replaced === undefined ? undefined : sessions.get(replaced);
    const others = [...sessions.values()].filter((one) => one !== before);
    const nowMs = Date.now();
    const room = makeRoom(others, person, { ...limits, nowMs, openForMs: signIn === 'form' ? 0 : openForMs });
    if (room === 'full') return 'full';
    void room.ends?.end('the same person signed in once more');
    void before?.end('its browser signed in anew');
    const session = sessionOf(hub, { person, token, key });
    making.move();
    sessions.set(key, session);
    logger.info({ person }, 'signed in');
    return session;
  }

  function sessionOf(
    hub: ConsoleHub,
    { person, token, key }: { person: string; token: string; key: string },
  ) {
    const own = createPersonConsole(hub, { files, signIn, admit: () => undefined });
    const nowMs = Date.now();
    const underWay = new Set<ServerResponse>();
    const session: OpenSession = {
      person,
      answer(request, outgoing) {
        if (underWay.size >= mostUnderWay) return undefined;
        if (!outgoing.destroyed) {
          underWay.add(outgoing);
          outgoing.once('close', () => underWay.delete(outgoing));
        }
        return Promise.resolve(own.app.fetch(request));
      },
      endsAtMs: sessionEnd(token, nowMs, limits),
      beganAtMs: nowMs,
      usedAtMs: nowMs,
      get openPages() {
        return own.openPages();
      },
      async isStillKnown() {
        // Not knowing is no answer: an API server that is away takes nobody out.
        return hub.person().then(
          (now) => now === person,
          (thrown: unknown) => !isUnknown(thrown),
        );
      },
      async end(why) {
        // Behind a proxy another one of the same token may have come after it.
        if (sessions.get(key) !== session) return;
        sessions.delete(key);
        logger.info({ person, reason: why }, 'session ended');
        // What is not sent yet would stay in memory for as long as nobody reads it.
        for (const outgoing of underWay) outgoing.destroy();
        await own[Symbol.asyncDispose]();
        hub.client.close();
      },
    };
    own.begin();
    return session;
  }

  function of(secret: string | undefined): OpenSession | undefined {
    const session = secret === undefined ? undefined : sessions.get(keyOf(secret));
    if (!session) return undefined;
    const why = whyOver(session, Date.now(), limits);
    if (why !== undefined) {
      void session.end(why);
      return undefined;
    }
    session.usedAtMs = Date.now();
    return session;
  }

  function isAway(thrown: unknown): SignInRefusal {
    logger.warn({ err: toRollcallError(thrown) }, 'the API server was not asked who signs in');
    return 'away';
  }

  async function endUnknown(session: OpenSession): Promise<void> {
    if (!(await session.isStillKnown())) await session.end('the API server does not know its token any more');
  }

  const looking = setInterval(() => {
    for (const session of sessions.values()) {
      if (session.openPages > 0) session.usedAtMs = Date.now();
      const why = whyOver(session, Date.now(), limits);
      if (why !== undefined) void session.end(why);
    }
  }, lookEveryMs);
  const asking = setInterval(() => {
    for (const session of sessions.values()) void endUnknown(session);
  }, limits.askAgainMs);

  return {
    of,
    async open(token, as, insteadOf) {
      const key = keyOf(as);
      const replaced = insteadOf === undefined ? undefined : keyOf(insteadOf);
      const known = opening.get(key);
      if (known) return known;
      if (opening.size >= mostSigningIn) return 'busy';
      const opened = open(token, { key, replaced })
        .catch((thrown: unknown): SignInRefusal => (isUnknown(thrown) ? 'unknown' : isAway(thrown)))
        .finally(() => opening.delete(key));
      opening.set(key, opened);
      return opened;
    },
    close: (secret) => void of(secret)?.end('signed out'),
    async [Symbol.asyncDispose]() {
      isEnding = true;
      clearInterval(looking);
      clearInterval(asking);
      for (const hub of askedBy) hub.client.close();
      await Promise.all(opening.values());
      await Promise.all([...sessions.values()].map((session) => session.end('the console ends')));
    },
  };
}
