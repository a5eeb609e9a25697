import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { BusAddress, BusCredentials } from '@rollcall/shared/bus';
import type { SignedIn } from '@rollcall/console-service';
import { RollcallError } from '@rollcall/shared/errors';
import { KubeApiError, type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { type HubFlags, openHub } from '../hub-access.ts';
import { say } from '../terminal/output.ts';
import { stateDirectory, stateFile } from '../state-directory.ts';
import { readHubInfo } from '@rollcall/shared/hub';
import { credsFiles } from '../up/state/hub-state.ts';
import { natsPorts } from '../up/state/nats-servers-of.ts';
import { parseCreds } from '../up/state/people-connection.ts';
import { readNatsContext, serversOf } from './nats-context.ts';

export interface BusFlags extends HubFlags {
  readonly creds?: string;
  readonly server?: string;
  readonly caFile?: string;
  readonly natsContext?: string;
}

export interface BusAccess {
  readonly address: BusAddress;
  readonly credentials: BusCredentials;
}

function readText(flag: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new RollcallError('USAGE', `${flag}: cannot read "${path}"`, { cause });
  }
}

/** Whether flags or KUBECONFIG are about a hub that is not the embedded one of this directory; whose files are not of people who sign in. */
function namesAnotherHub({ as, kubeconfig, context, karmadaContext }: BusFlags): boolean {
  if (as) return true;
  const named = kubeconfig ?? process.env['KUBECONFIG'];
  const own = stateFile('kubeconfig');
  const isOther = !!named && (own === undefined || resolve(named) !== resolve(own));
  return context !== undefined || karmadaContext !== undefined || isOther;
}

/**
 * What the environment says of the bus. A flag that says which hub silences all of it: that hub's bus is meant, and no mixture
 * of two hubs.
 */
function busEnvironment({ kubeconfig, context, karmadaContext }: BusFlags) {
  const isHubGiven = [kubeconfig, context, karmadaContext].some((flag) => flag !== undefined);
  const { NATS_CONTEXT: name, NATS_URL: url, NATS_CREDS: creds, NATS_CA: ca } = process.env;
  return isHubGiven ? {} : { context: name || undefined, url: url || undefined, creds, ca };
}

/** Whether flags or the environment say which bus, so that no kubeconfig is needed to find it. */
export function namesBus(flags: BusFlags): boolean {
  const { context, url } = busEnvironment(flags);
  return [flags.server, flags.natsContext, context, url].some((bus) => bus !== undefined);
}

/** Whether another hub is meant than the embedded one of this directory: by flags, KUBECONFIG, NATS_URL or NATS_CONTEXT. */
export function isElsewhere(flags: BusFlags): boolean {
  return namesAnotherHub(flags) || namesBus(flags);
}

/** The embedded hub's own files: they are there when its API server is away. */
function embeddedAccess(flags: BusFlags): BusAccess | undefined {
  if (namesAnotherHub(flags)) return undefined;
  const creds = stateFile(credsFiles.inspector) ?? stateFile(credsFiles.ops);
  const hub = stateFile('hub.json');
  const ports = natsPorts(stateDirectory());
  if (!creds || !hub || ports.length === 0) return undefined;
  const { caPem } = JSON.parse(readFileSync(hub, 'utf8')) as { caPem: string };
  const address = { servers: ports.map((port) => `127.0.0.1:${port}`), caPem };
  return { address, credentials: parseCreds(readFileSync(creds, 'utf8')) };
}

/** The first of the Secrets with users for people that this person may read. */
async function peoplesCredentials(client: KubeClient): Promise<BusCredentials | undefined> {
  type Secret = KubeObject & { data?: Record<string, string> };
  let refused: unknown;
  for (const name of ['rollcall-inspector', 'rollcall-ops']) {
    const where = { name, namespace: 'rollcall-system' };
    const found = await client.get<Secret>(resources.secrets, where).catch((error: unknown) => {
      if (!(error instanceof KubeApiError) || error.status !== 403) throw error;
      refused ??= error;
      return undefined;
    });
    const encoded = found?.data?.['creds'];
    if (encoded !== undefined) return parseCreds(Buffer.from(encoded, 'base64').toString('utf8'));
  }
  if (refused) throw refused;
  return undefined;
}

/** Of the users for people, one whose Secret this person may read. */
async function anyPeoplesCredentials(client: KubeClient): Promise<BusCredentials> {
  const credentials = await peoplesCredentials(client);
  if (credentials) return credentials;
  throw new RollcallError(
    'NOT_FOUND',
    'the hub has no Secret rollcall-inspector or rollcall-ops in rollcall-system; give --creds',
  );
}

/** The bus of the hub that the console belongs to, as the user that this person may be. */
async function signedInAccess(flags: BusFlags, { bus }: SignedIn): Promise<BusAccess> {
  const client = openHub(flags);
  try {
    return { address: bus, credentials: await anyPeoplesCredentials(client) };
  } finally {
    client.close();
  }
}

/** An installed hub: ConfigMap rollcall-hub, and the Secrets for people who may read them. */
async function installedAccess(flags: BusFlags, own: BusCredentials | undefined): Promise<BusAccess> {
  const client = openHub(flags);
  try {
    const { addresses, caPem } = await readHubInfo(client);
    // Services and people speak NATS itself; the other way is for agents.
    const servers = addresses.filter((one) => !one.startsWith('wss://'));
    const address = { servers, caPem };
    return { address, credentials: own ?? (await anyPeoplesCredentials(client)) };
  } finally {
    client.close();
  }
}

/** A context of the `nats` command, from `--nats-context` or NATS_CONTEXT. */
function contextAccess(name: string, own: BusCredentials | undefined): BusAccess {
  const { path, servers, creds, ca } = readNatsContext(name);
  const credentials =
    own ?? (creds === undefined ? undefined : parseCreds(readText('--nats-context', creds)));
  if (servers.length === 0 || !credentials || ca === undefined) {
    throw new RollcallError(
      'USAGE',
      `context "${name}" needs url, creds and ca ("${path}"); \`rollcall context export\` writes one`,
    );
  }
  return { address: { servers, caPem: readText('--nats-context', ca) }, credentials };
}

/** NATS_URL says where, and NATS_CREDS and NATS_CA how; what they do not say is the hub's own. */
async function withEnvironment(
  { url, creds, ca }: ReturnType<typeof busEnvironment>,
  own: BusCredentials | undefined,
  access: () => Promise<BusAccess>,
): Promise<BusAccess> {
  if (url === undefined) return access();
  const servers = serversOf(url);
  say(`bus: ${servers.join(', ')} (NATS_URL)`);
  const credentials = own ?? (creds ? parseCreds(readText('NATS_CREDS', creds)) : undefined);
  const known = credentials && ca ? undefined : await access();
  return {
    address: { servers, caPem: ca ? readText('NATS_CA', ca) : (known?.address.caPem ?? '') },
    credentials: credentials ?? known?.credentials ?? { jwt: '', seed: '' },
  };
}

/**
 * Where the bus is and who we are there: the flags, also those that name the hub (`--kubeconfig`, `--context`); a context of the
 * `nats` command; NATS_URL; the embedded hub of this directory; or the hub of the kubeconfig. `--creds` says who we are wherever
 * the bus is.
 * @throws RollcallError USAGE, HUB_MISSING, NOT_FOUND; KubeApiError
 */
export async function busAccess(flags: BusFlags): Promise<BusAccess> {
  const { creds, server, caFile } = flags;
  if (flags.as) return signedInAccess(flags, flags.as);
  if (server === undefined && caFile === undefined) {
    const own = creds === undefined ? undefined : parseCreds(readText('--creds', creds));
    const environment = busEnvironment(flags);
    if (flags.natsContext !== undefined) return contextAccess(flags.natsContext, own);
    if (environment.context !== undefined) {
      const access = contextAccess(environment.context, own);
      say(`bus: ${access.address.servers.join(', ')} (NATS_CONTEXT)`);
      return access;
    }
    return withEnvironment(environment, own, async () => {
      const embedded = embeddedAccess(flags);
      if (!embedded) return installedAccess(flags, own);
      return own ? { ...embedded, credentials: own } : embedded;
    });
  }
  if (server === undefined || caFile === undefined || creds === undefined) {
    throw new RollcallError('USAGE', '--server, --ca-file and --creds go together');
  }
  const address = { servers: serversOf(server), caPem: readText('--ca-file', caFile) };
  return { address, credentials: parseCreds(readText('--creds', creds)) };
}
