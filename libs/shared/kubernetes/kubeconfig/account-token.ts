import type { KubeClient } from '../kube-client.ts';
import { resources } from '../resources.ts';

interface AccountTokenSpec {
  /** In seconds; API servers give at least 600, and may give less than is asked for. Absent: an hour. */
  readonly expirationSeconds?: number | undefined;
  /** Absent: that of the API server itself. */
  readonly audiences?: readonly string[];
  /** What it ends with. */
  readonly boundObjectRef?: { apiVersion: string; kind: string; name: string; uid: string };
}

/** As the API server answers; nothing of it is checked. */
interface AccountToken {
  readonly token?: string;
  readonly expirationTimestamp?: string;
}

/**
 * Has the API server make a token of a ServiceAccount.
 * @throws KubeApiError, also where the account is not there or the caller has no right to it
 */
export async function requestAccountToken(
  client: Pick<KubeClient, 'createSubresource'>,
  { namespace, name }: { readonly namespace: string | undefined; readonly name: string },
  spec: AccountTokenSpec,
): Promise<AccountToken> {
  const where = { namespace, name, subresource: 'token' };
  const made = await client.createSubresource<{ status?: AccountToken }>(resources.serviceAccounts, where, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec,
  });
  return made.status ?? {};
}
