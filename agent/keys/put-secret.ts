import type { KubeClient, KubeObject } from '@rollcall/shared/kubernetes';
import { isNotFound } from '@rollcall/shared/kubernetes/kube-api-error';
import { resources } from '@rollcall/shared/kubernetes/resources';

type Secret = KubeObject & { data?: Record<string, string>; type?: string };

/** Texts as a Secret has them. */
export function secretData(texts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
  );
}

/** Puts texts into a Secret, which is made where it is missing. Other keys of it are left alone. @throws KubeApiError */
export async function putSecret(
  client: Pick<KubeClient, 'create' | 'mergePatch'>,
  { namespace, name }: { namespace: string; name: string },
  texts: Readonly<Record<string, string>>,
): Promise<void> {
  const data = secretData(texts);
  try {
    await client.mergePatch<Secret>(resources.secrets, name, { data }, { namespace });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const metadata = { name, namespace };
    const secret: Secret = { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data };
    await client.create<Secret>(resources.secrets, secret);
  }
}
