import { RollcallError } from '@rollcall/shared/errors';
import { apiVersionOf, type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { namespaces } from '@rollcall/shared/resources';
import { createRegistrationToken } from '@rollcall/shared/trust';
import { waitForObject } from '../wait-for-object.ts';

type TokenObject = KubeObject<
  Record<string, unknown>,
  { conditions?: readonly { type: string; status: string }[] }
>;

/**
 * Makes a token that is good for an hour, as a person does before clusters join, and waits until the hub has taken it.
 * @param what.terms - further terms of the token
 * @param what.takenWithinMs - default: 10 s
 * @throws RollcallError DEADLINE_EXCEEDED
 */
export async function makeToken(
  client: KubeClient,
  what: {
    hubId: string;
    name: string;
    uses: number;
    terms?: Readonly<Record<string, unknown>>;
    takenWithinMs?: number;
  },
): Promise<string> {
  const { hubId, name, uses, terms, takenWithinMs = 10_000 } = what;
  const token = createRegistrationToken(hubId);
  const resource = resources.clusterRegistrationTokens;
  const namespace = namespaces.join;
  await client.create<TokenObject>(resource, {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { name, namespace },
    spec: { publicKey: token.key.publicKey, uses, ttl: '1h', ...terms },
  });
  const taken = await waitForObject<TokenObject>(
    client,
    { resource, name, namespace, timeoutMs: takenWithinMs },
    ({ status }) =>
      (status?.conditions ?? []).some(({ type, status: isTrue }) => type === 'Ready' && isTrue === 'True'),
  );
  if (taken) return token.text;
  throw new RollcallError('DEADLINE_EXCEEDED', `the hub has not taken the token "${name}"`);
}
