import type { IncomingMessage } from 'node:http';
import { kubeApiError, isNotFound } from './kube-api-error.ts';
import type { KubeAccess } from './kube-access.ts';
import type { KubeObject, StoredObject } from './objects.ts';
import { resourcePath, withQuery } from './resource-path.ts';
import { apiVersionOf, type Resource } from './resources.ts';
import { sendWithRetry } from './retry-after.ts';
import { createTransport, type TransportRequest } from './transport.ts';

export interface RequestOptions {
  signal?: AbortSignal | undefined;
  /** Default: the client's. */
  timeoutMs?: number;
}
export interface ObjectOptions extends RequestOptions {
  namespace?: string | undefined;
}
export interface ListOptions extends ObjectOptions {
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
}
export interface PageOptions extends ListOptions {
  /** Most objects in one page. */
  limit?: number | undefined;
  /** The token that the page before gave. It ends after about 5 minutes: 410. */
  continueToken?: string | undefined;
}
export interface WriteOptions extends ObjectOptions {
  subresource?: string | undefined;
  /** Everything is checked, admission policies too, and nothing is kept. */
  dryRun?: boolean | undefined;
  /** Refuse fields that the schema does not know, instead of dropping them. */
  strict?: boolean | undefined;
}
export interface ApplyOptions extends WriteOptions {
  /** Take fields over from other managers instead of failing with a conflict. */
  force?: boolean | undefined;
}
export interface DeleteOptions extends ObjectOptions {
  dryRun?: boolean | undefined;
  /** Delete this very object only; anything else is a conflict. */
  preconditions?: { uid?: string; resourceVersion?: string } | undefined;
  propagationPolicy?: 'Foreground' | 'Background' | 'Orphan' | undefined;
}
export interface ListPage<T extends KubeObject> {
  items: StoredObject<T>[];
  /** The version of the whole list: where a watch goes on. */
  resourceVersion: string;
  continueToken: string | undefined;
}

/**
 * Requests to one API server as one user. Every method throws `KubeApiError` when the server refuses, and
 * `RollcallError` `KUBE_UNREACHABLE` when there is no answer; a write may have happened then.
 */
export interface KubeClient {
  readonly access: KubeAccess;
  /** `undefined` when there is no such object; also when there is no such kind. */
  get<T extends KubeObject>(
    resource: Resource,
    target: { name: string } & ObjectOptions,
  ): Promise<StoredObject<T> | undefined>;
  /** All objects, read page by page. Without a namespace: of all namespaces. Their managedFields are dropped. */
  list<T extends KubeObject>(resource: Resource, options?: ListOptions): Promise<StoredObject<T>[]>;
  listPage<T extends KubeObject>(resource: Resource, options?: PageOptions): Promise<ListPage<T>>;
  create<T extends KubeObject>(
    resource: Resource,
    object: T,
    options?: WriteOptions,
  ): Promise<StoredObject<T>>;
  /** With metadata.resourceVersion in the object: a conflict when somebody was faster. */
  replace<T extends KubeObject>(
    resource: Resource,
    object: T,
    options?: WriteOptions,
  ): Promise<StoredObject<T>>;
  /** JSON merge patch: `null` removes, lists are replaced whole. */
  mergePatch<T extends KubeObject>(
    resource: Resource,
    name: string,
    patch: object,
    options?: WriteOptions,
  ): Promise<StoredObject<T>>;
  /** Server-side apply under the client's field manager. */
  apply<T extends KubeObject>(
    resource: Resource,
    object: T,
    options?: ApplyOptions,
  ): Promise<StoredObject<T>>;
  /** @returns whether there was such an object; it may live on until its finalizers are gone */
  delete(resource: Resource, name: string, options?: DeleteOptions): Promise<boolean>;
  /** POST to a subresource, such as a TokenRequest to `serviceaccounts/NAME/token`. */
  createSubresource<T>(
    resource: Resource,
    target: { name: string; subresource: string; namespace?: string | undefined },
    body: object,
    options?: RequestOptions & { dryRun?: boolean },
  ): Promise<T>;
  /** Any path, such as /readyz?verbose or /version: the answer as it is, whatever its code. */
  raw(path: string, options?: RequestOptions): Promise<{ status: number; body: string }>;
  /** Whether the server has this API group (of another product, or ours before its CRDs are there). */
  hasApiGroup(group: string, options?: RequestOptions): Promise<boolean>;
  /** An answer without an end, for watches. The caller destroys it. */
  openStream(path: string, options?: RequestOptions): Promise<IncomingMessage>;
  /** Closes idle connections; open ones end with their requests. */
  close(): void;
}

export interface ClientOptions {
  /** One name everywhere: each further manager makes every write of the object dearer (facts). */
  fieldManager: string;
  /** What the audit log shows. */
  userAgent: string;
  /** From sending to the whole answer. Default 15 s: a list page of 500 on a busy server stays well below. */
  timeoutMs?: number;
}

const pageSize = 500;

export function createKubeClient(access: KubeAccess, options: ClientOptions): KubeClient {
  const transport = createTransport(access, options.userAgent);
  const { fieldManager, timeoutMs = 15_000 } = options;

  async function send<T>(
    request: Omit<TransportRequest, 'timeoutMs'>,
    perRequest: RequestOptions = {},
  ): Promise<T> {
    const { signal } = perRequest;
    const answer = await sendWithRetry(transport, {
      ...request,
      signal,
      timeoutMs: perRequest.timeoutMs ?? timeoutMs,
    });
    if (answer.status >= 200 && answer.status < 300) return JSON.parse(answer.body) as T;
    throw kubeApiError(answer.status, answer.body, `${request.method} ${request.path}`);
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
    const list = await send<RawList<T>>({ method: 'GET', path }, page);
    const apiVersion = apiVersionOf(resource);
    return {
      items: list.items.map((item) => withoutManagedFields({ ...item, apiVersion, kind: resource.kind })),
      resourceVersion: list.metadata.resourceVersion,
      continueToken: list.metadata.continue === '' ? undefined : list.metadata.continue,
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
      let continueToken: string | undefined;
      do {
        const page: ListPage<T> = await listPage<T>(resource, { ...list, limit: pageSize, continueToken });
        items.push(...page.items);
        continueToken = page.continueToken;
      } while (continueToken !== undefined);
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
      const path = withQuery(resourcePath(resource, { namespace, name }), {
        dryRun: dryRun ? 'All' : undefined,
      });
      const body = JSON.stringify({
        apiVersion: 'v1',
        kind: 'DeleteOptions',
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
      return { status: answer.status, body: answer.body };
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

interface RawList<T extends KubeObject> {
  metadata: { resourceVersion: string; continue?: string };
  items: StoredObject<T>[];
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
