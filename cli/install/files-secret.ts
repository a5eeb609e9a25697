import type { KubeObject } from '@rollcall/shared/kubernetes';

export type FilesSecret = KubeObject & { readonly data: Readonly<Record<string, string>> };

/** Files for a pod of the hub, as a Secret in its namespace. */
export function filesSecret(name: string, files: Readonly<Record<string, string>>): FilesSecret {
  const encoded = Object.entries(files).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
  const labels = { 'app.kubernetes.io/part-of': 'rollcall' };
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'rollcall-system', labels },
    data: Object.fromEntries(encoded) as Record<string, string>,
  };
}
