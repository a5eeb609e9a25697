import { setTimeout as delay } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import { RollcallError } from '../errors/index.ts';
import { differingPaths } from './differing-paths.ts';
import { inParallel } from './in-parallel.ts';
import type { KubeClient } from './kube-client.ts';
import { isNotFound } from './kube-api-error.ts';
import type { KubeObject, StoredObject } from './objects.ts';
import { createResourceFinder, establishWithinMs, pollMs } from './resource-finder.ts';
import { resources } from './resources.ts';

export interface AppliedObject {
  kind: string;
  name: string;
  namespace: string | undefined;
  outcome: 'created' | 'changed' | 'unchanged';
  /** Of what changed: the fields that differ. */
  paths: readonly string[];
}

/** Annotation of an object that people change to their needs: once it is there it is theirs. */
const madeOnce = 'rollcall.dev/made-once';

export interface ApplyManifestsOptions {
  signal?: AbortSignal;
  /** So many at a time, of objects none of which needs another. Default: one after the other. */
  atOnce?: number;
  /** Asks what would become of each, and changes nothing. What needs a kind or a namespace that is not there yet would be created. */
  dryRun?: boolean;
}

/**
 * Applies objects, one after the other unless told otherwise, by server-side apply, taking over fields from other managers, with unknown fields
 * refused. Waits after a CRD until its kind can be used. What is there already and equal is left alone, and so is what is made once.
 * @param manifests - YAML texts of one or more documents, or objects
 * @throws KubeApiError at the first object that is refused; those before it stay applied
 */
export async function applyManifests(
  client: KubeClient,
  manifests: readonly (string | KubeObject)[],
  { signal, atOnce = 1, dryRun = false }: ApplyManifestsOptions = {},
): Promise<AppliedObject[]> {
  const resourceOf = createResourceFinder(client, signal);
  async function apply(object: KubeObject): Promise<AppliedObject> {
    const { name = '' } = object.metadata;
    const resource = await resourceOf(object);
    const namespace = resource.namespaced
      ? (object.metadata.namespace ?? client.access.namespace)
      : undefined;
    const before = await client.get(resource, { name, namespace, signal });
    if (before && object.metadata.annotations?.[madeOnce] === 'true')
      return { kind: object.kind, name, namespace, outcome: 'unchanged', paths: [] };
    const how = { namespace, force: true, strict: true, dryRun, signal };
    const after = await client.apply(resource, object, how).catch((error: unknown) => {
      // Its namespace would be made before it.
      if (dryRun && before === undefined && isNotFound(error)) return undefined;
      throw error;
    });
    if (after && !dryRun && resource === resources.customResourceDefinitions)
      await waitUntilEstablished(client, after, signal);
    if (before === undefined || after === undefined)
      return { kind: object.kind, name, namespace, outcome: 'created', paths: [] };
    const paths = differingPaths(withoutCounts(before), withoutCounts(after));
    return { kind: object.kind, name, namespace, outcome: paths.length > 0 ? 'changed' : 'unchanged', paths };
  }
  return inParallel(manifests.flatMap(objectsOf), atOnce, apply);
}

/** Of a policy the API server counts an apply that changes nothing as a change, and of a dry run it counts nothing. */
function withoutCounts({ metadata, ...rest }: StoredObject): object {
  const counts = { resourceVersion: undefined, generation: undefined, managedFields: undefined };
  return { ...rest, status: undefined, metadata: { ...metadata, ...counts } };
}

function objectsOf(manifest: string | KubeObject): KubeObject[] {
  if (typeof manifest !== 'string') return [manifest];
  return parseAllDocuments(manifest).flatMap((document) => {
    const [problem] = document.errors;
    if (problem !== undefined) throw problem;
    const object = document.toJS() as KubeObject | null;
    return object === null ? [] : [object];
  });
}

interface CrdStatus {
  conditions?: { type: string; status: string }[];
}
interface CrdSpec {
  group: string;
  names: { plural: string };
  versions: { name: string; served: boolean }[];
}

/** The condition comes a moment before the paths do, so both are waited for. */
async function waitUntilEstablished(
  client: KubeClient,
  applied: StoredObject,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { name } = applied.metadata;
  const deadlineMs = performance.now() + establishWithinMs;
  for (;;) {
    const crd = await client.get<KubeObject<CrdSpec, CrdStatus>>(resources.customResourceDefinitions, {
      name,
      signal,
    });
    const isEstablished = crd?.status?.conditions?.some(
      ({ type, status }) => type === 'Established' && status === 'True',
    );
    if (crd?.spec !== undefined && isEstablished === true && (await isServed(client, crd.spec, signal)))
      return;
    if (performance.now() > deadlineMs) {
      throw new RollcallError(
        'KUBE_API',
        `the CRD "${name}" was not established within ${establishWithinMs} ms`,
      );
    }
    await delay(pollMs, undefined, { signal });
  }
}

async function isServed(
  client: KubeClient,
  spec: CrdSpec,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const version = spec.versions.find(({ served }) => served)?.name;
  if (version === undefined) return true;
  const resource = { group: spec.group, version, plural: spec.names.plural, kind: '', namespaced: false };
  try {
    await client.listPage(resource, { limit: 1, signal });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}
