import { randomBytes } from 'node:crypto';
import { RollcallError } from '@rollcall/shared/errors';
import { type HubInfo, readHubInfo, registerCommand } from '@rollcall/shared/hub';
import {
  apiVersionOf,
  isForbidden,
  type KubeClient,
  type KubeObject,
  resources,
  type StoredObject,
} from '@rollcall/shared/kubernetes';
import type { ClusterRegistrationToken } from '@rollcall/shared/resources';
import { createRegistrationToken } from '@rollcall/shared/trust';
import { type DocumentFormat, documentText } from '../terminal/document-text.ts';
import { timeoutFlagMs } from '../duration-flag.ts';
import { objectText } from '../get/object-text.ts';
import { type HubFlags, openHub, sayHub } from '../hub-access.ts';
import { printResult, say } from '../terminal/output.ts';
import { printable, printableJson } from '../terminal/printable.ts';
import { withProgress } from '../terminal/progress.ts';
import { waitForObject } from '../wait-for-object.ts';
import { termsText, type TokenSpecFlags, type TokenTerms, tokenTerms } from './token-spec.ts';

export interface CreateTokenFlags extends HubFlags, TokenSpecFlags {
  readonly name?: string;
  readonly namespace: string;
  readonly publish?: boolean;
  readonly printRegisterCommand?: boolean;
  readonly wait?: boolean;
  readonly timeout: string;
  readonly dryRun?: boolean;
  readonly output?: 'json' | 'yaml' | 'name';
}

interface TokenStatus {
  readonly conditions?: readonly { type: string; status: string; reason?: string; message?: string }[];
  readonly expires?: string;
}
type TokenObject = KubeObject<TokenTerms & ({ publicKey: string } | { publish: true }), TokenStatus>;

/** The hub takes a token within milliseconds; one that is away takes it when it is back. */
const takenWithinMs = 5000;

const tokens = resources.clusterRegistrationTokens;
const readyOf = ({ status }: TokenObject) => status?.conditions?.find(({ type }) => type === 'Ready');
const placeOf = ({ metadata }: TokenObject) => `${metadata.namespace}/${metadata.name}`;

/** Mistakes in flags, before anything is asked. @throws RollcallError USAGE */
function checkFlags({ publish, printRegisterCommand, output }: CreateTokenFlags): void {
  if (publish && printRegisterCommand) {
    throw new RollcallError('USAGE', '--publish puts the command into the Secret; nobody sees it here');
  }
  if (!publish && output === 'name') {
    throw new RollcallError(
      'USAGE',
      '-o name would lose the token, which is shown once; it is for --publish',
    );
  }
}

/**
 * Makes a token on this machine, declares its public key, and prints the token once; with `--publish` the hub makes it, and
 * this says in which Secret.
 * @throws RollcallError USAGE, HUB_MISSING, TOKEN_REFUSED, DEADLINE_EXCEEDED; KubeApiError
 */
export async function createToken(flags: CreateTokenFlags): Promise<void> {
  checkFlags(flags);
  const terms = tokenTerms(flags);
  const timeoutMs = timeoutFlagMs(flags.timeout);
  const client = openHub(flags);
  try {
    const hub = await withProgress('reading the hub', readHubInfo(client));
    const own = flags.publish ? undefined : createRegistrationToken(hub.hubId);
    const object: TokenObject = {
      apiVersion: apiVersionOf(tokens),
      kind: tokens.kind,
      metadata: {
        name: flags.name ?? `token-${randomBytes(4).toString('hex')}`,
        namespace: flags.namespace,
      },
      spec: { ...(own ? { publicKey: own.key.publicKey } : { publish: true }), ...terms },
    };
    sayHub(client);
    const dryRun = flags.dryRun ?? false;
    const making = client.create(tokens, object, { strict: true, dryRun });
    const made = await withProgress('making the token', making);
    if (dryRun) {
      const { tryToken } = await import('./try-token.ts');
      return await tryToken(client, made as StoredObject<ClusterRegistrationToken>, flags);
    }
    if (own) {
      const taken = await untilTaken(client, made);
      printOwn(taken ?? made, { hub, flags, terms, text: own.text });
      if (flags.wait) await untilReady(client, made, timeoutMs);
    } else {
      const taken = flags.wait ? await untilReady(client, made, timeoutMs) : await untilTaken(client, made);
      printPublished(made, { flags, terms, taken });
    }
  } finally {
    client.close();
  }
}

/**
 * Waits until the hub says whether it takes the token.
 * @returns undefined while it says nothing
 * @throws RollcallError TOKEN_REFUSED with the hub's words
 */
async function untilSettled(
  client: KubeClient,
  made: StoredObject<TokenObject>,
  timeoutMs: number,
): Promise<TokenObject | undefined> {
  const { name, namespace } = made.metadata;
  const settled = waitForObject<TokenObject>(
    client,
    { resource: tokens, name, namespace, timeoutMs },
    (object) => ['True', 'False'].includes(readyOf(object)?.status ?? ''),
  );
  const token = await withProgress('waiting for the hub to take the token', settled);
  const ready = token && readyOf(token);
  if (ready?.status !== 'False') return token;
  const why = printable(`${ready.reason ?? 'NotReady'}, ${ready.message ?? ''}`);
  const { uid } = made.metadata;
  // Nobody would ever use it: without its words it would only lie about.
  const isLeft = await client.delete(tokens, name, { namespace, preconditions: { uid } }).then(
    () => false,
    () => true,
  );
  const left = isLeft
    ? `; it could not be taken away again: \`rollcall token delete ${name} -n ${namespace}\``
    : '';
  throw new RollcallError(
    'TOKEN_REFUSED',
    `the hub does not take the token "${placeOf(made)}": ${why}${left}`,
  );
}

/** @throws RollcallError TOKEN_REFUSED, DEADLINE_EXCEEDED */
async function untilReady(
  client: KubeClient,
  made: StoredObject<TokenObject>,
  timeoutMs: number,
): Promise<TokenObject> {
  const token = await untilSettled(client, made, timeoutMs);
  if (token) return token;
  throw new RollcallError(
    'DEADLINE_EXCEEDED',
    `the token "${placeOf(made)}" is made, and the hub has not taken it within ${timeoutMs / 1000} s`,
  );
}

/**
 * The token is good once the approver has declared it, and a published one is in its Secret then; until then an agent would be refused.
 * @returns undefined where the hub has said nothing yet, which is told
 * @throws RollcallError TOKEN_REFUSED
 */
async function untilTaken(
  client: KubeClient,
  made: StoredObject<TokenObject>,
): Promise<TokenObject | undefined> {
  try {
    const taken = await untilSettled(client, made, takenWithinMs);
    if (!taken)
      say(
        `the hub has not taken the token within ${takenWithinMs / 1000} s; it works as soon as the hub has`,
      );
    return taken;
  } catch (error) {
    // A token that was made here is nowhere else: it is printed all the same.
    if (!isForbidden(error)) throw error;
    say('you may not watch whether the hub takes the token; it works as soon as the hub has');
    return undefined;
  }
}

function printOwn(
  object: TokenObject,
  how: { hub: HubInfo; flags: CreateTokenFlags; terms: TokenTerms; text: string },
): void {
  const { hub, flags, terms, text } = how;
  const { name, namespace } = object.metadata;
  const { clusterName, clientId, uses } = terms;
  const expires = object.status?.expires;
  const command = registerCommand(hub, { token: text, clusterName, clientId });
  say(`token ${namespace}/${name}: good for ${termsText(terms, expires)}`);
  const told = { token: text, name, namespace, expires, uses, command };
  if (flags.output === 'json' || flags.output === 'yaml') printResult(toldText(told, flags.output));
  else printResult(flags.printRegisterCommand ? command : text);
}

/** JSON is one line, for scripts that take it apart with what they have. */
function toldText(told: object, format: DocumentFormat): string {
  return format === 'json' ? printableJson(told) : documentText(told, format);
}

/** The Secret has the name of the token; what is in it, only those see who may read it. Named only where the hub has made it. */
function printPublished(
  made: StoredObject<TokenObject>,
  how: { flags: CreateTokenFlags; terms: TokenTerms; taken: TokenObject | undefined },
): void {
  const { flags, terms, taken } = how;
  const { name, namespace } = made.metadata;
  const expires = taken?.status?.expires;
  if (taken) {
    say(`token ${namespace}/${name}: good for ${termsText(terms, expires)}`);
    say(`the hub made it; Secret ${namespace}/${name} goes with its end or last use`);
    say(`to use it: kubectl -n ${namespace} get secret ${name} -o jsonpath='{.data.command}' | base64 -d`);
  } else say(`whether it is taken, and why not: \`rollcall token list -n ${namespace}\``);
  const told = { name, namespace, ...(taken ? { secret: name } : {}), expires, uses: terms.uses };
  if (flags.output === 'json' || flags.output === 'yaml') printResult(toldText(told, flags.output));
  else if (flags.output === 'name') printResult(objectText(made, tokens, 'name'));
  else if (taken) printResult(`secret ${namespace}/${name} holds the token`);
  else printResult(`token ${namespace}/${name} waits for the hub`);
}
