import { parseBoundedYaml } from '@rollcall/shared/config/bounded-yaml';
import { RollcallError } from '@rollcall/shared/errors';
import type { KubeClient, KubeObject } from '@rollcall/shared/kubernetes';
import { resources } from '@rollcall/shared/kubernetes/resources';
import { labels, madeByJoin, namespaces } from '@rollcall/shared/resources';

export type Secret = KubeObject & { readonly data?: Readonly<Record<string, string>> };

/** What people laid down for one member. */
export interface MemberSecret {
  readonly kubeconfig: string;
  /** With which its agent asks; undefined where none is there (yet): who is known needs none. */
  readonly token: string | undefined;
  /** `host:port` of the hub as members reach it, and its CA: what an agent that is installed there needs. */
  readonly hub: string | undefined;
  readonly caPem: string | undefined;
  /** Whether `rollcall join` made it, and with it an account in the member that goes when the cluster leaves. */
  readonly isMadeByJoin: boolean;
}

/** @returns undefined for what is not there, or empty */
export function textIn(secret: Secret | undefined, key: string): string | undefined {
  const text = Buffer.from(secret?.data?.[key] ?? '', 'base64').toString('utf8');
  return text.trim() === '' ? undefined : text;
}

interface Published {
  readonly token?: unknown;
  readonly hub?: unknown;
  readonly caBundle?: unknown;
}

/** The values of a published token; what is none of ours says nothing. */
function publishedIn(secret: Secret | undefined): Published {
  const isOurs = secret?.metadata.labels?.[labels.createdBy] === 'rbac-provisioner';
  const values = isOurs ? textIn(secret, 'values') : undefined;
  try {
    return (values === undefined ? undefined : (parseBoundedYaml(values) as Published | null)) ?? {};
  } catch {
    return {};
  }
}

const asText = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);

/**
 * Reads the Secret that a cluster names, and the published token of the cluster's name where the Secret has none.
 * @throws RollcallError MEMBER_KUBECONFIG_REFUSED without a kubeconfig in it; KubeApiError
 */
export async function readMemberSecret(
  client: Pick<KubeClient, 'get'>,
  of: { secret: string; clusterName: string },
): Promise<MemberSecret> {
  const { secret: name, clusterName } = of;
  const { kubeconfigs: namespace, join } = namespaces;
  const secret = await client.get<Secret>(resources.secrets, { name, namespace });
  const kubeconfig = textIn(secret, 'value');
  if (kubeconfig === undefined) {
    const what = secret === undefined ? 'is not there' : 'has no key "value"';
    throw new RollcallError('MEMBER_KUBECONFIG_REFUSED', `the Secret ${namespace}/${name} ${what}`);
  }
  const own = { token: textIn(secret, 'token')?.trim(), hub: textIn(secret, 'hub')?.trim() };
  const published =
    own.token === undefined
      ? publishedIn(await client.get<Secret>(resources.secrets, { name: clusterName, namespace: join }))
      : {};
  return {
    kubeconfig,
    token: own.token ?? asText(published.token),
    hub: own.hub ?? asText(published.hub),
    caPem: textIn(secret, 'caBundle') ?? asText(published.caBundle),
    isMadeByJoin: secret?.metadata.labels?.[labels.createdBy] === madeByJoin,
  };
}
