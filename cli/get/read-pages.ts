import type { KubeClient } from '@rollcall/shared/kubernetes';
import { parsedBody } from '@rollcall/shared/kubernetes/client';
import { kubeApiError } from '@rollcall/shared/kubernetes/kube-api-error';

/** Asks the API server for its own table, where it makes one. */
export const asTable = 'application/json;as=Table;g=meta.k8s.io;v=v1,application/json';
const pageSize = 500;

/** A list, or one page of it. */
export interface Page {
  readonly metadata?: { readonly continue?: string; readonly resourceVersion?: string };
}

/** @throws KubeApiError; RollcallError KUBE_UNREACHABLE */
export async function readJson<T>(client: KubeClient, path: string, accept: string): Promise<T> {
  const { status, body } = await client.raw(path, { accept });
  if (status !== 200) throw kubeApiError(status, body, `GET ${path}`);
  return parsedBody(body, `GET ${path}`) as T;
}

/**
 * Reads a list to its end.
 * @param selector - a further query parameter, such as `&fieldSelector=…`
 * @throws KubeApiError
 */
export async function readPages<T extends Page>(
  client: KubeClient,
  path: string,
  { accept, selector = '' }: { accept: string; selector?: string },
): Promise<T[]> {
  const pages: T[] = [];
  let next = '';
  do {
    const more = next === '' ? '' : `&continue=${encodeURIComponent(next)}`;
    const page = await readJson<T>(client, `${path}?limit=${pageSize}${selector}${more}`, accept);
    pages.push(page);
    next = page.metadata?.continue ?? '';
  } while (next !== '');
  return pages;
}
