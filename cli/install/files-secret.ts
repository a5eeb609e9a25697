import type { KubeObject } from '@rollcall/shared/kubernetes';

export type FilesSecret = KubeObject & { readonly data: Readonly<Record<string, string>> };

const partOf = { 'app.kubernetes.io/part-of': 'rollcall' } as const;

/** Whether an installation wrote it; people may put one of their own in its place. */
export function isPartOfHub({ metadata }: KubeObject): boolean {
  return metadata.labels?.['app.kubernetes.io/part-of'] === partOf['app.kubernetes.io/part-of'];
}

/** Files for a pod of the hub, as a Secret in its namespace. */
export function filesSecret(name: string, files: Readonly<Record<string, string>>): FilesSecret {
  const encoded = Object.entries(files).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'rollcall-system', labels: partOf },
    data: Object.fromEntries(encoded) as Record<string, string>,
  };
}
