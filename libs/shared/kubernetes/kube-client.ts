import type { IncomingMessage } from 'node:http';
import type { KubeAccess } from './kubeconfig/kube-access.ts';
import type { KubeObject, StoredObject } from './objects.ts';
import type { Resource } from './resources.ts';

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
  /** No content: what may be secret does not come over. */
  metadataOnly?: boolean | undefined;
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
  /** How many come after this page, as far as the server says; at least 1 while there is a token. */
  remaining: number;
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
  /**
   * Any path, such as /readyz?verbose or /version: the answer as it is, whatever its code. `accept`: tables, for example.
   * `date`: the server's clock, as its header says it.
   */
  raw(
    path: string,
    options?: RequestOptions & { accept?: string },
  ): Promise<{ status: number; body: string; date?: string | undefined }>;
  /** Whether the server has this API group (of another product, or ours before its CRDs are there). */
  hasApiGroup(group: string, options?: RequestOptions): Promise<boolean>;
  /** An answer without an end, for watches. The caller destroys it. */
  openStream(path: string, options?: RequestOptions & { accept?: string }): Promise<IncomingMessage>;
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
