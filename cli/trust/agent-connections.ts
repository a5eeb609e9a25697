import { connectBus, listConnections, type ServerConnection } from '@rollcall/shared/bus';
import { decodeJwt } from '@rollcall/shared/trust';
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

/**
 * Asks every server who of an account is connected, as the system user that the state directory has.
 * @throws RollcallError BUS_UNREACHABLE where one does not say
 */
async function connectionsOf(files: HubFiles, account: string): Promise<ServerConnection[]> {
  const nc = await connectBus(files.address, files.read('account-controller').sys, 'claims');
  try {
    return (await listConnections(nc, { account, pick: (each) => each })) ?? [];
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
