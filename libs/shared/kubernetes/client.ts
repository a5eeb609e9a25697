import { RollcallError } from '../errors/index.ts';
import { createEarlyRefusalCheck } from './refused-while-starting.ts';
import { isNotFound, kubeApiError, withoutItsWords } from './kube-api-error.ts';
import type { KubeAccess } from './kubeconfig/kube-access.ts';
import type {
  ApplyOptions,
  ClientOptions,
  KubeClient,
  ListOptions,
  ListPage,
  ObjectOptions,
  PageOptions,
  RequestOptions,
  WriteOptions,
} from './kube-client.ts';
import { listPages } from './list-pages.ts';
import type { KubeObject, StoredObject } from './objects.ts';
import { resourcePath, withQuery } from './resource-path.ts';
import { apiVersionOf, type Resource } from './resources.ts';
import { retryAfterMs, sendWithRetry } from './retry-after.ts';
import { createTransport, type TransportRequest } from './transport.ts';

const pageSize = 500;
const metadataOnly = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

export function createKubeClient(access: KubeAccess, options: ClientOptions): KubeClient {
  const transport = createTransport(access, options.userAgent);
  const { fieldManager, timeoutMs = 15_000 } = options;
  const untilRolesAreRead = createEarlyRefusalCheck(transport);

  async function send<T>(
    request: Omit<TransportRequest, 'timeoutMs'>,
    perRequest: RequestOptions = {},
  ): Promise<T> {
    const how = { signal: perRequest.signal, timeoutMs: perRequest.timeoutMs ?? timeoutMs };
    const answer = await untilRolesAreRead(() => sendWithRetry(transport, { ...request, ...how }), how);
    const asked = `${request.method} ${request.path}`;
    if (answer.status >= 200 && answer.status < 300) return parsedBody(answer.body, asked) as T;
    const error = kubeApiError(answer.status, answer.body, asked, retryAfterMs(answer));
    throw access.caution ? withoutItsWords(error, asked) : error;
  }

  function write<T>(
    method: 'POST' | 'PUT' | 'PATCH',
    target: { resource: Resource; name?: string | undefined; body: object; contentType?: string },
    { namespace, subresource, dryRun, strict, force, ...perRequest }: ApplyOptions,
  ): Promise<T> {
    const { resource, name, body, contentType } = target;
    const path = withQuery(resourcePath(resource, { namespace, name, subresource }), {
      fieldManager,
      dryRun: dryRun ? 'All' : undefined,
      fieldValidation: strict ? 'Strict' : undefined,
      force: force ? true : undefined,
    });
    return send<T>({ method, path, body: JSON.stringify(body), contentType }, perRequest);
  }

  async function listPage<T extends KubeObject>(
    resource: Resource,
    page: PageOptions = {},
  ): Promise<ListPage<T>> {
    const path = withQuery(resourcePath(resource, { namespace: page.namespace }), {
      labelSelector: page.labelSelector,
      fieldSelector: page.fieldSelector,
      limit: page.limit,
      continue: page.continueToken,
    });
    const accept = page.metadataOnly ? metadataOnly : undefined;
    const list = await send<RawList<T>>({ method: 'GET', path, accept }, page);
    const apiVersion = apiVersionOf(resource);
    const continueToken = list.metadata.continue === '' ? undefined : list.metadata.continue;
    return {
      items: (list.items ?? []).map((item) =>
        withoutManagedFields({ ...item, apiVersion, kind: resource.kind }),
      ),
      resourceVersion: list.metadata.resourceVersion,
      continueToken,
      remaining: list.metadata.remainingItemCount ?? (continueToken === undefined ? 0 : 1),
    };
  }

  const client: KubeClient = {
    access,
    async get<T extends KubeObject>(resource: Resource, target: { name: string } & ObjectOptions) {
      const { name, namespace, ...perRequest } = target;
      try {
        const path = resourcePath(resource, { namespace, name });
        return await send<StoredObject<T>>({ method: 'GET', path }, perRequest);
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    },
    async list<T extends KubeObject>(resource: Resource, list: ListOptions = {}) {
      const items: StoredObject<T>[] = [];
      for await (const page of listPages<T>(client, resource, { ...list, limit: pageSize }))
        items.push(...page.items);
      return items;
    },
    listPage,
    create: (resource, object, how = {}) =>
      write('POST', { resource, body: object }, inNamespaceOf(object, how)),
    replace: (resource, object, how = {}) =>
      write('PUT', { resource, name: requiredName(object), body: object }, inNamespaceOf(object, how)),
    mergePatch: (resource, name, patch, how = {}) =>
      write('PATCH', { resource, name, body: patch, contentType: 'application/merge-patch+json' }, how),
    apply: (resource, object, how = {}) =>
      write(
        'PATCH',
        { resource, name: requiredName(object), body: object, contentType: 'application/apply-patch+yaml' },
        inNamespaceOf(object, how),
      ),
    async delete(
      resource,
      name,
      { namespace, dryRun, preconditions, propagationPolicy, ...perRequest } = {},
    ) {
      const path = resourcePath(resource, { namespace, name });
      const body = JSON.stringify({
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        // Here and not in the query: beside a body the API server ignores that, and deletes.
        ...(dryRun ? { dryRun: ['All'] } : {}),
        preconditions,
        propagationPolicy,
      });
      try {
        await send({ method: 'DELETE', path, body }, perRequest);
        return true;
      } catch (error) {
        if (isNotFound(error)) return false;
        throw error;
      }
    },
    createSubresource: (resource, target, body, { dryRun, ...perRequest } = {}) => {
      const path = withQuery(resourcePath(resource, target), {
        fieldManager,
        dryRun: dryRun ? 'All' : undefined,
      });
      return send({ method: 'POST', path, body: JSON.stringify(body) }, perRequest);
    },
    async raw(path, perRequest = {}) {
      const answer = await transport.send({ timeoutMs, ...perRequest, method: 'GET', path });
      return { status: answer.status, body: answer.body, date: answer.headers.date };
    },
    async hasApiGroup(group, perRequest = {}) {
      const path = `/apis/${encodeURIComponent(group)}`;
      const request = { timeoutMs, ...perRequest, method: 'GET', path } as const;
      const { status, body } = await sendWithRetry(transport, request);
      if (status === 200 || status === 404) return status === 200;
      throw kubeApiError(status, body, `GET ${path}`);
    },
    openStream: (path, perRequest = {}) => transport.open({ timeoutMs, ...perRequest, method: 'GET', path }),
    close: () => transport.close(),
  };
  return client;
}

/**
 * What is no JSON is not quoted: it may be half of a Secret.
 * @throws RollcallError KUBE_UNREACHABLE
 */
export function parsedBody(body: string, request: string): object {
  let read: unknown;
  try {
    read = JSON.parse(body);
  } catch {
    throw new RollcallError('KUBE_UNREACHABLE', `${request}: the answer is no JSON`);
  }
  if (typeof read === 'object' && read !== null && !Array.isArray(read)) return read;
  throw new RollcallError('KUBE_UNREACHABLE', `${request}: the answer is no object`);
}

interface RawList<T extends KubeObject> {
  metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
  /** `null` in an empty list of metadata. */
  items: StoredObject<T>[] | null;
}

/** They are often half of an object, and nobody here reads them. */
export function withoutManagedFields<T extends KubeObject>(object: T): T {
  if ('managedFields' in object.metadata) delete object.metadata.managedFields;
  return object;
}

function inNamespaceOf<O extends WriteOptions>(object: KubeObject, options: O): O {
  return { ...options, namespace: options.namespace ?? object.metadata.namespace };
}

function requiredName(object: KubeObject): string {
  if (object.metadata.name === undefined) throw new TypeError(`a ${object.kind} without a name`);
  return object.metadata.name;
}
