import type { NatsConnection } from '@nats-io/transport-node';
import { RollcallError } from '@rollcall/shared/errors';
import { z } from 'zod';
import { askServers } from './ask-servers.ts';

const pageSize = 1024;
/** Of a page that follows another: whoever goes meanwhile moves all later ones up, and nobody may be left out. */
const pagesOverlapBy = 64;
const mostListings = 5;

const connection = z.looseObject({
  cid: z.int(),
  /** The key of an agent, also as the name of a user that the callout made. */
  authorized_user: z.string().optional(),
  issuer_key: z.string().optional(),
  jwt: z.string().optional(),
});
const page = z.looseObject({
  server: z.looseObject({ id: z.string() }),
  // Null from a server that nobody of the account has come to yet.
  data: z.looseObject({ total: z.int(), connections: z.array(connection).nullish() }).nullish(),
});

/** As a server tells it. */
export type ServerConnection = z.infer<typeof connection>;

export interface ConnectionQuery<Kept> {
  /** Public key of the account. */
  readonly account: string;
  /** Of this user alone. */
  readonly user?: string;
  /** What of a connection is kept; undefined: nothing. */
  pick(connection: ServerConnection, serverId: string): Kept | undefined;
  /** What takes more pages than that is not listed. Default: any number. */
  readonly mostPages?: number;
}

/**
 * Who of an account is connected, to all servers.
 * @returns undefined: that would be more than `mostPages`
 * @throws RollcallError BUS_UNREACHABLE where one does not say, or where connections change faster than they can be listed
 */
export async function listConnections<Kept>(
  nc: NatsConnection,
  query: ConnectionQuery<Kept>,
): Promise<Kept[] | undefined> {
  for (let listing = 1; listing <= mostListings; listing++) {
    const found = await listedOnce(nc, query);
    if (found !== 'moved') return found;
  }
  throw new RollcallError('BUS_UNREACHABLE', 'connections come and go faster than they can be listed');
}

/** @returns `moved` where more went between two pages than they overlap by: somebody may be left out */
async function listedOnce<Kept>(
  nc: NatsConnection,
  { account, user, pick, mostPages = Infinity }: ConnectionQuery<Kept>,
): Promise<Kept[] | undefined | 'moved'> {
  const found = new Map<string, Kept>();
  /** Pages go by the numbers of connections, upwards. */
  const through = new Map<string, number>();
  for (let offset = 0; ; offset += pageSize - pagesOverlapBy) {
    const body = { auth: true, acc: account, user, sort: 'cid', limit: pageSize, offset };
    let most = 0;
    for await (const { server, data } of askServers(nc, 'rollcall.sys.connections', { body, answer: page })) {
      const connections = data?.connections ?? [];
      const before = through.get(server.id);
      const [first, last] = [connections[0]?.cid, connections.at(-1)?.cid];
      if (before !== undefined && first !== undefined && first > before) return 'moved';
      if (last !== undefined) through.set(server.id, last);
      for (const each of connections) {
        const kept = pick(each, server.id);
        if (kept !== undefined) found.set(`${server.id} ${each.cid}`, kept);
      }
      most = Math.max(most, data?.total ?? 0);
    }
    if (most > mostPages * pageSize) return undefined;
    if (most <= offset + pageSize) return [...found.values()];
  }
}
