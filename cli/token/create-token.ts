import { randomBytes } from 'node:crypto';
import { RollcallError } from '@rollcall/shared/errors';
import {
  apiVersionOf,
  type KubeClient,
  type KubeObject,
  resources,
  type StoredObject,
} from '@rollcall/shared/kubernetes';
import { createRegistrationToken } from '@rollcall/shared/trust';
import { durationFlagMs } from '../duration-flag.ts';
import { type HubFlags, openHub, sayHub } from '../hub-access.ts';
import { printResult, say } from '../output.ts';
import { printableJson } from '../printable.ts';
import { waitForObject } from '../wait-for-object.ts';
import { type HubInfo, readHubInfo } from './hub-info.ts';
import { registerCommand } from './register-command.ts';

export interface CreateTokenFlags extends HubFlags {
  readonly printRegisterCommand?: boolean;
  readonly ttl: string;
  readonly uses: string;
  readonly clusterName?: string;
  readonly namespace: string;
  readonly description?: string;
  readonly dryRun?: boolean;
  readonly output?: 'json';
}

interface TokenSpec {
  readonly publicKey: string;
  readonly ttl: string;
  readonly uses: number | 'unlimited';
  readonly clusterName?: string;
  readonly description?: string;
}
interface TokenStatus {
  readonly conditions?: readonly { type: string; status: string }[];
  readonly expires?: string;
}
type TokenObject = KubeObject<TokenSpec, TokenStatus>;

/** The hub takes a token within milliseconds; one that is away takes it when it is back. */
const takenWithinMs = 5000;

/** @throws RollcallError USAGE */
export function tokenSpec(publicKey: string, flags: CreateTokenFlags): TokenSpec {
  const { ttl, clusterName, description } = flags;
  if (ttl !== '0') durationFlagMs('--ttl', ttl);
  return {
    publicKey,
    ttl,
    uses: parseUses(flags.uses),
    ...(clusterName === undefined ? {} : { clusterName }),
    ...(description === undefined ? {} : { description }),
  };
}

function parseUses(text: string): number | 'unlimited' {
  if (text === 'unlimited') return text;
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text);
  throw new RollcallError(
    'USAGE',
    `--uses "${text}" is neither a number of 1 or more nor the word unlimited`,
  );
}

/**
 * Makes a token on this machine, declares its public key, and prints the token once.
 * @throws RollcallError USAGE, HUB_MISSING; KubeApiError
 */
export async function createToken(flags: CreateTokenFlags): Promise<void> {
  const client = openHub(flags);
  try {
    const hub = await readHubInfo(client);
    const token = createRegistrationToken(hub.hubId);
    const object: TokenObject = {
      apiVersion: apiVersionOf(resources.clusterRegistrationTokens),
      kind: resources.clusterRegistrationTokens.kind,
      metadata: { name: `token-${randomBytes(4).toString('hex')}`, namespace: flags.namespace },
      spec: tokenSpec(token.key.publicKey, flags),
    };
    sayHub(client);
    const dryRun = flags.dryRun ?? false;
    const made = await client.create(resources.clusterRegistrationTokens, object, { strict: true, dryRun });
    if (dryRun) say('a token like this would be made (dry run)');
    else printToken({ hub, flags, object: await untilTaken(client, made), text: token.text });
  } finally {
    client.close();
  }
}

/** The token is good once the approver has declared it; until then an agent would be refused. */
async function untilTaken(client: KubeClient, made: StoredObject<TokenObject>): Promise<TokenObject> {
  const { name, namespace } = made.metadata;
  const on = { resource: resources.clusterRegistrationTokens, name, namespace, timeoutMs: takenWithinMs };
  const taken = await waitForObject<TokenObject>(client, on, ({ status }) =>
    (status?.conditions ?? []).some(({ type, status: is }) => type === 'Ready' && is === 'True'),
  );
  if (!taken)
    say(`the hub has not taken the token within ${takenWithinMs / 1000} s; it works as soon as the hub has`);
  return taken ?? made;
}

function printToken(made: {
  hub: HubInfo;
  flags: CreateTokenFlags;
  object: TokenObject;
  text: string;
}): void {
  const { hub, flags, object, text } = made;
  const { name, namespace } = object.metadata;
  const { uses = 1, ttl, clusterName } = object.spec ?? {};
  const command = registerCommand(hub, { token: text, clusterName });
  const expires = object.status?.expires;
  const times =
    uses === 1 ? 'one cluster' : uses === 'unlimited' ? 'any number of clusters' : `${uses} clusters`;
  const named = clusterName === undefined ? '' : ` named "${clusterName}"`;
  const until = expires === undefined ? `for ${ttl}` : expires === 'never' ? 'for ever' : `until ${expires}`;
  say(`token ${namespace}/${name}: good for ${times}${named}, ${until}`);
  if (flags.output === 'json') {
    printResult(printableJson({ token: text, name, namespace, expires, uses, command }));
  } else {
    printResult(flags.printRegisterCommand ? command : text);
  }
}
