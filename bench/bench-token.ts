import { RollcallError } from '@rollcall/shared/errors';
import { apiVersionOf, type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { createRegistrationToken } from '@rollcall/shared/trust';
import { waitForObject } from '../cli/wait-for-object.ts';

type TokenObject = KubeObject<
  Record<string, unknown>,
  { conditions?: readonly { type: string; status: string }[] }
>;

const takenWithinMs = 10_000;

/** Makes a token, as a person does before clusters join, and waits until the hub has taken it. */
export async function createBenchToken(
  client: KubeClient,
  { hubId, name, uses }: { hubId: string; name: string; uses: number },
): Promise<string> {
  const token = createRegistrationToken(hubId);
  const resource = resources.clusterRegistrationTokens;
  const namespace = 'rollcall-join';
  await client.create<TokenObject>(resource, {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { name, namespace },
    spec: { publicKey: token.key.publicKey, uses, ttl: '1h' },
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
