import type { NatsConnection } from '@nats-io/transport-node';
import {
  askServers,
  type ConnectionQuery,
  listConnections,
  type ServerConnection,
} from '@rollcall/shared/bus';
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
  /** What each server acts on, of those that the account is known to: others take it from what is stored when somebody comes. */
  applied(account: string): Promise<AppliedClaims[]>;
  /**
   * Connections of user keys, also of users whose *name* is that key: those whom the callout let in. Of who has none, nothing. By one
   * list of all connections, or user by user where that is less to ask.
   */
  connectionsOfEach(
    account: string,
    users: readonly string[],
  ): Promise<ReadonlyMap<string, readonly Connection[]>>;
  /**
   * Ends the connections of a user as each server names them, also where another server says nothing.
   * @returns the names in their credentials; those whom the callout let in are named after their key
   */
  endConnectionsOf(account: string, user: string): Promise<string[]>;
  /** Ends a connection; none of that number is no mistake. */
  kick(connection: Connection): Promise<void>;
}

/** Short, because what is sent while the connection is down is lost; servers answer in some ms. */
const timeoutMs = 2000;

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

function notApplied(cause: unknown): RollcallError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new RollcallError('CLAIMS_NOT_APPLIED', `the NATS server did not answer as expected: ${why}`, {
    cause,
  });
}

async function known<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (cause) {
    throw notApplied(cause);
  }
}

const place = ({ cid }: ServerConnection, serverId: string): Connection => ({ serverId, cid });

export function createSystemAccount(nc: NatsConnection): SystemAccount {
  const ask = async (subject: string, body: string) =>
    (await known(nc.request(subject, body, { timeout: timeoutMs }))).string();

  const kick = ({ serverId, cid }: Connection) =>
    ask(`$SYS.REQ.SERVER.${serverId}.KICK`, JSON.stringify({ cid }));

  const listed = <Kept>(query: ConnectionQuery<Kept>) => known(listConnections(nc, query));

  async function oneByOne(account: string, users: readonly string[]): Promise<Map<string, Connection[]>> {
    const found = new Map<string, Connection[]>();
    for (const user of users) {
      const connections = (await listed({ account, user, pick: place })) ?? [];
      if (connections.length > 0) found.set(user, connections);
    }
    return found;
  }

  return {
    lookUp: (account) => ask(`$SYS.REQ.ACCOUNT.${account}.CLAIMS.LOOKUP`, ''),
    async push(accountJwt) {
      const text = await ask('$SYS.REQ.CLAIMS.UPDATE', accountJwt);
      const { data, error } = updateAnswer.parse(JSON.parse(text));
      if (data?.code !== 200) throw notApplied(error?.description ?? data?.message);
    },
    async applied(account) {
      const how = { body: { account }, answer: accountAnswer };
      const answers = await known(Array.fromAsync(askServers(nc, '$SYS.REQ.SERVER.PING.ACCOUNTZ', how)));
      const details = answers.flatMap(({ data }) => data?.account_detail ?? []);
      return details.map(({ jwt, revoked_user: revoked = {} }) => ({
        jwt,
        revocations: Object.fromEntries(
          Object.entries(revoked).map(([key, time]) => [key, Date.parse(time) / 1000]),
        ),
      }));
    },
    async connectionsOfEach(account, users) {
      if (users.length <= 1) return oneByOne(account, users);
      const wanted = new Set(users);
      const found = await listed({
        account,
        mostPages: users.length,
        pick: (each, serverId) => {
          const { authorized_user: user } = each;
          return user !== undefined && wanted.has(user) ? { user, ...place(each, serverId) } : undefined;
        },
      });
      return found ? Map.groupBy(found, ({ user }) => user) : oneByOne(account, users);
    },
    async endConnectionsOf(account, user) {
      const names: string[] = [];
      const kicks: Promise<unknown>[] = [];
      const pick = (each: ServerConnection, serverId: string) => {
        const kicked = kick(place(each, serverId));
        // Told below; a server that says nothing is waited for until then.
        kicked.catch(() => undefined);
        kicks.push(kicked);
        names.push((each.jwt === undefined ? undefined : decodeJwt(each.jwt)?.name) ?? user);
        return undefined;
      };
      try {
        await listed({ account, user, pick });
      } catch (error) {
        if (kicks.length === 0) throw error;
      }
      await Promise.all(kicks);
      return names;
    },
    async kick(connection) {
      await kick(connection);
    },
  };
}
