import type { NatsConnection } from '@nats-io/transport-node';
import { connectBus } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import { decodeJwt } from '@rollcall/shared/trust';
import { z } from 'zod';
import type { HubFiles } from './hub-files.ts';

/** Agents that are connected now, by what their credentials say. */
export interface AgentConnections {
  /** By the public key that signed the credentials. */
  readonly bySigner: Readonly<Record<string, number>>;
  /**
   * Who has heard what was announced at that time: those whose credentials were issued since, of all who have some of their own.
   * @returns `3 of 5`, and the ids of the others, sorted
   */
  hearing(announcedAtMs: number): { readonly heard: string; readonly unheard: readonly string[] };
  /** Of their credentials, the one that ends last. */
  readonly outLongest: { readonly lifeMs: number; readonly endsAtMs: number } | undefined;
}

const pageSize = 1024;
/** Of a page that follows another: whoever goes meanwhile moves all later ones up, and nobody may be left out. */
const pagesOverlapBy = 64;
const mostListings = 5;
const answerWithinMs = 5000;
/** All servers have answered when none has for this long. */
const stallMs = 300;

const page = z.looseObject({
  server: z.looseObject({ id: z.string() }),
  data: z.looseObject({
    total: z.int(),
    connections: z
      .array(z.looseObject({ cid: z.int(), issuer_key: z.string().optional(), jwt: z.string().optional() }))
      .nullish(),
  }),
});

type Connection = NonNullable<z.infer<typeof page>['data']['connections']>[number];

const notListed = (why: string) =>
  new RollcallError('BUS_UNREACHABLE', `who is connected is not known: ${why}`);

/** @returns undefined where more went between two pages than they overlap by: somebody may be left out */
async function listed(nc: NatsConnection, account: string): Promise<Connection[] | undefined> {
  const found = new Map<string, Connection>();
  /** Pages go by the numbers of connections, upwards. */
  const through = new Map<string, number>();
  for (let offset = 0, total = 1; offset < total; offset += pageSize - pagesOverlapBy) {
    const body = JSON.stringify({ auth: true, acc: account, sort: 'cid', limit: pageSize, offset });
    const how = { strategy: 'stall', maxWait: answerWithinMs, stall: stallMs } as const;
    let answered = 0;
    total = 0;
    for await (const message of await nc.requestMany('rollcall.sys.connections', body, how)) {
      const { server, data } = page.parse(message.json());
      const connections = data.connections ?? [];
      const [before, first] = [through.get(server.id), connections[0]?.cid];
      if (before !== undefined && first !== undefined && first > before) return undefined;
      for (const each of connections) found.set(`${server.id} ${each.cid}`, each);
      through.set(server.id, connections.at(-1)?.cid ?? before ?? 0);
      // What the last page has that overlaps is there already.
      total = Math.max(total, data.total - pagesOverlapBy);
      answered++;
    }
    // A server that is too busy to say who is with it has not said that nobody is.
    if (answered === 0 || answered < through.size) throw notListed('a NATS server did not answer in time');
  }
  return [...found.values()];
}

/**
 * Asks every server who of an account is connected, as the system user that the state directory has.
 * @throws RollcallError BUS_UNREACHABLE where one does not say
 */
async function connectionsOf(files: HubFiles, account: string): Promise<Connection[]> {
  const nc = await connectBus(files.address, files.read('account-controller').sys, 'claims');
  try {
    for (let listing = 1; listing <= mostListings; listing++) {
      const found = await listed(nc, account);
      if (found) return found;
    }
    throw notListed('agents come and go faster than they can be listed');
  } finally {
    await nc.close();
  }
}

/** The names of those who are connected with a user that this key has signed, in HUB and the accounts of roles. */
export async function connectedBy(files: HubFiles, signer: string): Promise<string[]> {
  const names: string[] = [];
  const { hub, roles } = files.read('hub').keys;
  for (const account of [hub, ...Object.values(roles)])
    for (const { issuer_key: by, jwt } of await connectionsOf(files, account)) {
      if (by === signer) names.push(decodeJwt(jwt ?? '')?.name ?? 'unknown');
    }
  return names;
}

export async function agentConnections(files: HubFiles): Promise<AgentConnections> {
  const bySigner: Record<string, number> = {};
  const issues: { readonly id: string; readonly atMs: number }[] = [];
  let outLongest: AgentConnections['outLongest'];
  for (const { issuer_key: signer = 'unknown', jwt } of await connectionsOf(
    files,
    files.read('hub').keys.agents,
  )) {
    bySigner[signer] = (bySigner[signer] ?? 0) + 1;
    const { name: id = 'unknown', iat: issued, exp } = (jwt === undefined ? undefined : decodeJwt(jwt)) ?? {};
    if (issued === undefined) continue;
    issues.push({ id, atMs: issued * 1000 });
    if (exp !== undefined && exp * 1000 > (outLongest?.endsAtMs ?? 0))
      outLongest = { lifeMs: (exp - issued) * 1000, endsAtMs: exp * 1000 };
  }
  return {
    bySigner,
    hearing(announcedAtMs) {
      const unheard = issues.filter(({ atMs }) => atMs < announcedAtMs).map(({ id }) => id);
      return { heard: `${issues.length - unheard.length} of ${issues.length}`, unheard: unheard.toSorted() };
    },
    outLongest,
  };
}
