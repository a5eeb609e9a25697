import { RollcallError } from '@rollcall/shared/errors';
import { type KubeClient, resources, type StoredObject } from '@rollcall/shared/kubernetes';
import type { ClusterRegistrationToken } from '@rollcall/shared/resources';
import { parseRegistrationToken } from '@rollcall/shared/trust/keys';
import { exitCodes } from '../exit-code.ts';
import { type DoneFormat, printObjects } from '../get/print-objects.ts';
import { type HubFlags, openHub, sayHub } from '../hub-access.ts';
import { confirmed } from '../terminal/confirmed.ts';
import { printResult, say } from '../terminal/output.ts';
import { withProgress } from '../terminal/progress.ts';

export interface DeleteTokenFlags extends HubFlags {
  readonly namespace: string;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly output: DoneFormat;
}

type TokenObject = ClusterRegistrationToken & { metadata: object };
type Token = StoredObject<TokenObject>;

const resource = resources.clusterRegistrationTokens;

/** What is lost with the token, and what is not. */
function whatItMeans(token: Pick<ClusterRegistrationToken, 'spec' | 'status'>): string {
  const { uses = 1 } = token.spec ?? {};
  const used = token.status?.used ?? 0;
  return `nobody can ask to join with it any more (used ${used} of ${uses}); clusters that asked with it stay as they are, members and waiting ones alike`;
}

/** By its name, or by itself: then it is found by its public key, and is neither sent nor repeated. */
async function readToken(client: KubeClient, given: string, namespace: string): Promise<Token> {
  // Also one that was pasted badly: as a name it would be sent, and stand in the message.
  const own = /^\s*rc1\./i.test(given) ? parseRegistrationToken(given) : undefined;
  const token = own
    ? (await client.list<TokenObject>(resource, { namespace })).find(
        ({ spec }) => spec?.publicKey === own.key.publicKey,
      )
    : await client.get<TokenObject>(resource, { name: given, namespace });
  if (token) return token;
  const which = own ? 'that is this one' : `"${given}"`;
  throw new RollcallError('NOT_FOUND', `namespace "${namespace}" has no token ${which}`);
}

/**
 * Takes registration tokens back, after saying what that means.
 * @param given - names, or tokens themselves
 * @throws RollcallError NOT_FOUND, TOKEN_INVALID, before any of them is deleted; USAGE; KubeApiError
 */
export async function deleteTokens(given: readonly string[], flags: DeleteTokenFlags): Promise<void> {
  const client = openHub(flags);
  const { namespace, dryRun = false, output } = flags;
  try {
    sayHub(client);
    const reading = Promise.all(given.map((one) => readToken(client, one, namespace)));
    const tokens = await withProgress('reading the tokens', reading);
    for (const token of tokens) say(`token ${namespace}/${token.metadata.name}: ${whatItMeans(token)}`);
    if (
      !flags.yes &&
      !dryRun &&
      !(await confirmed(`Delete ${tokens.length === 1 ? 'it' : `these ${tokens.length}`}?`))
    ) {
      say('nothing was deleted');
      process.exitCode = exitCodes.failed;
      return;
    }
    for (const { metadata } of tokens) {
      // Of the very object that was shown: another one may have got its name meanwhile.
      await client.delete(resource, metadata.name, {
        namespace,
        dryRun,
        preconditions: { uid: metadata.uid },
      });
      if (dryRun) say(`you may delete token ${namespace}/${metadata.name} (dry run)`);
      else if (output === 'text') printResult(`token ${namespace}/${metadata.name} is deleted`);
    }
    if (!dryRun && output !== 'text') printObjects(tokens, { resource, isOne: given.length === 1, output });
  } finally {
    client.close();
  }
}
