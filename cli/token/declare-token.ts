import { randomBytes } from 'node:crypto';
import { RollcallError } from '@rollcall/shared/errors';
import {
  apiVersionOf,
  isForbidden,
  type KubeClient,
  type KubeObject,
  resources,
  type StoredObject,
} from '@rollcall/shared/kubernetes';
import { say } from '../terminal/output.ts';
import { printable } from '../terminal/printable.ts';
import { withProgress } from '../terminal/progress.ts';
import { waitForObject } from '../wait-for-object.ts';
import type { TokenTerms } from './token-spec.ts';

interface TokenStatus {
  readonly conditions?: readonly { type: string; status: string; reason?: string; message?: string }[];
  readonly expires?: string;
}
export type TokenObject = KubeObject<TokenTerms & ({ publicKey: string } | { publish: true }), TokenStatus>;

/** The hub takes a token within milliseconds; one that is away takes it when it is back. */
export const takenWithinMs = 5000;

export const tokens = resources.clusterRegistrationTokens;
const readyOf = ({ status }: TokenObject) => status?.conditions?.find(({ type }) => type === 'Ready');
const placeOf = ({ metadata }: TokenObject) => `${metadata.namespace}/${metadata.name}`;

/**
 * The object that declares a token to the hub.
 * @param what.publicKey - of one that was made here; undefined: the hub makes it
 */
export function tokenObject(
  {
    name,
    namespace,
    publicKey,
  }: { name: string | undefined; namespace: string; publicKey: string | undefined },
  terms: TokenTerms,
): TokenObject {
  return {
    apiVersion: apiVersionOf(tokens),
    kind: tokens.kind,
    metadata: { name: name ?? `token-${randomBytes(4).toString('hex')}`, namespace },
    spec: { ...(publicKey === undefined ? { publish: true as const } : { publicKey }), ...terms },
  };
}

/**
 * Waits until the hub says whether it takes the token.
 * @returns undefined while it says nothing
 * @throws RollcallError TOKEN_REFUSED with the hub's words
 */
export async function untilSettled(
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
export async function untilReady(
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
 * @param note - is told why nothing is known
 * @returns undefined where the hub has said nothing yet
 * @throws RollcallError TOKEN_REFUSED
 */
export async function untilTaken(
  client: KubeClient,
  made: StoredObject<TokenObject>,
  note: (words: string) => void = say,
): Promise<TokenObject | undefined> {
  try {
    const taken = await untilSettled(client, made, takenWithinMs);
    if (!taken)
      note(
        `the hub has not taken the token within ${takenWithinMs / 1000} s; it works as soon as the hub has`,
      );
    return taken;
  } catch (error) {
    // A token that was made here is nowhere else: it is printed all the same.
    if (!isForbidden(error)) throw error;
    note('you may not watch whether the hub takes the token; it works as soon as the hub has');
    return undefined;
  }
}
