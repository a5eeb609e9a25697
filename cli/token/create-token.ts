import { RollcallError } from '@rollcall/shared/errors';
import { type HubInfo, readHubInfo, registerCommand } from '@rollcall/shared/hub';
import type { StoredObject } from '@rollcall/shared/kubernetes';
import type { ClusterRegistrationToken } from '@rollcall/shared/resources';
import { createRegistrationToken } from '@rollcall/shared/trust';
import { type DocumentFormat, documentText } from '../terminal/document-text.ts';
import { timeoutFlagMs } from '../duration-flag.ts';
import { objectText } from '../get/object-text.ts';
import { type HubFlags, openHub, sayHub } from '../hub-access.ts';
import { printResult, say } from '../terminal/output.ts';
import { printableJson } from '../terminal/printable.ts';
import { withProgress } from '../terminal/progress.ts';
import { type TokenObject, tokenObject, tokens, untilReady, untilTaken } from './declare-token.ts';
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
    const { name, namespace } = flags;
    const object = tokenObject({ name, namespace, publicKey: own?.key.publicKey }, terms);
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
