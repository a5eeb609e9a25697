import type { NatsConnection } from '@nats-io/transport-node';
import { z } from 'zod';
import { RollcallError } from '@rollcall/shared/errors';
import { decodeJwt } from '@rollcall/shared/trust';
import type { Revocations } from './revocation-list.ts';

/** One connection of a user to one server. */
export interface Connection {
  readonly serverId: string;
  readonly cid: number;
}

/** The claims of an account that one server acts on. */
export interface AppliedClaims {
  readonly revocations: Revocations;
  /** Empty where the server does not say it. */
  readonly jwt: string;
}

/** What is asked of the servers as the SYS user. Every method throws CLAIMS_NOT_APPLIED when a server says no or nothing. */
export interface SystemAccount {
  /** The JWT of an account as the server has stored it; empty when it has none. */
  lookUp(account: string): Promise<string>;
  /** The server says "updated" also to claims that it will not act on (measured): see `applied`. */
  push(accountJwt: string): Promise<void>;
  /**
   * What each server acts on, of those that the account is known to: others take it from what is stored when somebody comes.
   * Nobody says how many servers there are; once as many have answered as in the last look for new
   * ones, all have.
   */
  applied(account: string, how?: { lookForNewServers?: boolean }): Promise<AppliedClaims[]>;
  /** Connections of a user key, also of users whose *name* is that key: those whom the callout let in. */
  connectionsOf(account: string, user: string): Promise<Connection[]>;
  /**
   * The same of many users, by user: of who has none, nothing. By one list of all connections, or user by user where that is
   * less to ask.
   */
  connectionsOfEach(
    account: string,
    users: readonly string[],
  ): Promise<ReadonlyMap<string, readonly Connection[]>>;
  /**
   * Ends the connections of a user as each server names them, without waiting for all servers.
   * @returns the names in their credentials; those whom the callout let in are named after their key
   */
  endConnectionsOf(account: string, user: string): Promise<string[]>;
  /** Ends a connection; none of that number is no mistake. */
  kick(connection: Connection): Promise<void>;
}

/** Short, because what is sent while the connection is down is lost; servers answer in some ms. */
const timeoutMs = 2000;
/** All have answered when none has for this long. */
const stallMs = 150;
const pageSize = 1024;
/** Of a page that follows another: whoever goes meanwhile moves all later ones up, and nobody may be left out. */
const pagesOverlapBy = 64;
const mostListings = 5;

const server = z.looseObject({ id: z.string() });
const updateAnswer = z.looseObject({
  data: z.looseObject({ code: z.int(), message: z.string().optional() }).optional(),
  error: z.looseObject({ description: z.string().optional() }).optional(),
});
/**
 * `data` is null from a server that nobody of the account has come to yet: it has nothing to act on (measured). One that began with an
 * account because of what others import from it may say no JWT until the next push (seen as three servers started one after the other).
 */
const accountAnswer = z.looseObject({
  data: z
    .looseObject({
      account_detail: z
        .looseObject({
          revoked_user: z.record(z.string(), z.string()).optional(),
          jwt: z.string().default(''),
        })
        .optional(),
    })
    .nullish(),
});
const connectionsAnswer = z.looseObject({
  server,
  data: z
    .looseObject({
      total: z.int(),
      connections: z
        .array(
          z.looseObject({
            cid: z.int(),
            jwt: z.string().optional(),
            authorized_user: z.string().optional(),
          }),
        )
        .nullish(),
    })
    .nullish(),
});

function connectionsIn(cidsOf: ReadonlyMap<string, ReadonlySet<number>>): Connection[] {
  return [...cidsOf].flatMap(([serverId, cids]) => [...cids].map((cid) => ({ serverId, cid })));
}

function notApplied(cause: unknown): RollcallError {
  return new RollcallError(
    'CLAIMS_NOT_APPLIED',
    `the NATS server did not answer as expected: ${String(cause)}`,
    { cause },
  );
}

export function createSystemAccount(nc: NatsConnection): SystemAccount {
  let serverCount: number | undefined;

  async function ask(subject: string, body: string): Promise<string> {
    try {
      return (await nc.request(subject, body, { timeout: timeoutMs })).string();
    } catch (cause) {
      throw notApplied(cause);
    }
  }

  /** The answers of all servers, one by one; with `count`, of as many as that. */
  async function* answersOf<Answer>(
    subject: string,
    body: object,
    { answer, count }: { answer: z.ZodType<Answer>; count?: number | undefined },
  ): AsyncGenerator<Answer> {
    let isAnswered = false;
    try {
      const options =
        count === undefined
          ? ({ strategy: 'stall', maxWait: timeoutMs, stall: stallMs } as const)
          : ({ strategy: 'count', maxWait: timeoutMs, maxMessages: count } as const);
      for await (const message of await nc.requestMany(subject, JSON.stringify(body), options)) {
        isAnswered = true;
        yield answer.parse(message.json());
      }
    } catch (cause) {
      throw notApplied(cause);
    }
    if (!isAnswered) throw notApplied(`nobody answers on ${subject}`);
  }

  const askAll = <Answer>(...how: Parameters<typeof answersOf<Answer>>): Promise<Answer[]> =>
    Array.fromAsync(answersOf(...how));

  const kick = ({ serverId, cid }: Connection) =>
    ask(`$SYS.REQ.SERVER.${serverId}.KICK`, JSON.stringify({ cid }));

  async function connectionsOf(account: string, user: string): Promise<Connection[]> {
    const found: Connection[] = [];
    for (let offset = 0; ; offset += pageSize) {
      const body = { auth: true, acc: account, user, limit: pageSize, offset };
      const pages = await askAll('rollcall.sys.connections', body, { answer: connectionsAnswer });
      for (const page of pages) {
        for (const { cid } of page.data?.connections ?? []) found.push({ serverId: page.server.id, cid });
      }
      if (pages.every(({ data }) => (data?.total ?? 0) <= offset + pageSize)) return found;
    }
  }

  async function oneByOne(account: string, users: readonly string[]): Promise<Map<string, Connection[]>> {
    const found = new Map<string, Connection[]>();
    for (const user of users) {
      const connections = await connectionsOf(account, user);
      if (connections.length > 0) found.set(user, connections);
    }
    return found;
  }

  /** @returns undefined where more went between two pages than they overlap by: somebody may be left out */
  async function listed(
    account: string,
    users: readonly string[],
  ): Promise<Map<string, Connection[]> | undefined> {
    const wanted = new Set(users);
    const cids = new Map<string, Map<string, Set<number>>>();
    /** Pages go by the numbers of connections, upwards. */
    const through = new Map<string, number>();
    for (let offset = 0; ; offset += pageSize - pagesOverlapBy) {
      const body = { auth: true, acc: account, sort: 'cid', limit: pageSize, offset };
      const pages = await askAll('rollcall.sys.connections', body, { answer: connectionsAnswer });
      const most = Math.max(...pages.map(({ data }) => data?.total ?? 0));
      if (offset === 0 && users.length < most / pageSize) return oneByOne(account, users);
      for (const {
        server: { id },
        data,
      } of pages) {
        const connections = data?.connections ?? [];
        const [first, last] = [connections[0]?.cid, connections.at(-1)?.cid];
        const before = through.get(id);
        if (before !== undefined && first !== undefined && first > before) return undefined;
        if (last !== undefined) through.set(id, last);
        for (const { cid, authorized_user: user } of connections) {
          if (user === undefined || !wanted.has(user)) continue;
          const ofUser = cids.get(user) ?? new Map<string, Set<number>>();
          cids.set(user, ofUser.set(id, (ofUser.get(id) ?? new Set()).add(cid)));
        }
      }
      if (most > offset + pageSize) continue;
      return new Map([...cids].map(([user, ofUser]) => [user, connectionsIn(ofUser)]));
    }
  }

  return {
    lookUp: (account) => ask(`$SYS.REQ.ACCOUNT.${account}.CLAIMS.LOOKUP`, ''),
    async push(accountJwt) {
      const text = await ask('$SYS.REQ.CLAIMS.UPDATE', accountJwt);
      const { data, error } = updateAnswer.parse(JSON.parse(text));
      if (data?.code !== 200) throw notApplied(error?.description ?? data?.message);
    },
    async applied(account, { lookForNewServers = false } = {}) {
      const count = lookForNewServers ? undefined : serverCount;
      const answers = await askAll(
        '$SYS.REQ.SERVER.PING.ACCOUNTZ',
        { account },
        { answer: accountAnswer, count },
      );
      serverCount = answers.length;
      const details = answers.flatMap(({ data }) => data?.account_detail ?? []);
      return details.map(({ jwt, revoked_user: revoked = {} }) => ({
        jwt,
        revocations: Object.fromEntries(
          Object.entries(revoked).map(([key, time]) => [key, Date.parse(time) / 1000]),
        ),
      }));
    },
    connectionsOf,
    async connectionsOfEach(account, users) {
      if (users.length <= 1) return oneByOne(account, users);
      for (let listing = 1; listing <= mostListings; listing++) {
        const found = await listed(account, users);
        if (found) return found;
      }
      throw notApplied('connections come and go faster than they can be listed');
    },
    async endConnectionsOf(account, user) {
      const names: string[] = [];
      const kicks: Promise<string>[] = [];
      // More than a page of one user are left to the next call.
      const body = { auth: true, acc: account, user, limit: pageSize };
      for await (const page of answersOf('rollcall.sys.connections', body, {
        answer: connectionsAnswer,
        count: serverCount,
      })) {
        for (const { cid, jwt } of page.data?.connections ?? []) {
          kicks.push(kick({ serverId: page.server.id, cid }));
          names.push((jwt === undefined ? undefined : decodeJwt(jwt)?.name) ?? user);
        }
      }
      await Promise.all(kicks);
      return names;
    },
    async kick(connection) {
      await kick(connection);
    },
  };
}
