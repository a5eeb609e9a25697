import type { KubeClient } from '@rollcall/shared/kubernetes';
import { namespaces } from '@rollcall/shared/resources';
import { createRegistrationToken } from '@rollcall/shared/trust';
import { tokenObject, tokens, untilReady } from './declare-token.ts';
import type { TokenTerms } from './token-spec.ts';

/**
 * Makes a token that is good for an hour, as a person does before clusters join, and waits until the hub has taken it.
 * @param what.terms - further terms of the token
 * @param what.takenWithinMs - default: 10 s
 * @throws RollcallError TOKEN_REFUSED, DEADLINE_EXCEEDED
 */
export async function makeToken(
  client: KubeClient,
  what: {
    hubId: string;
    name: string;
    uses: number;
    terms?: Partial<TokenTerms>;
    takenWithinMs?: number;
  },
): Promise<string> {
  const { hubId, name, uses, terms, takenWithinMs = 10_000 } = what;
  const token = createRegistrationToken(hubId);
  const place = { name, namespace: namespaces.join, publicKey: token.key.publicKey };
  const made = await client.create(tokens, tokenObject(place, { ttl: '1h', uses, ...terms }), {
    namespace: namespaces.join,
  });
  await untilReady(client, made, takenWithinMs);
  return token.text;
}
