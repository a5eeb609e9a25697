import { setTimeout as delay } from 'node:timers/promises';
import {
  isAlreadyExists,
  isForbidden,
  isNotFound,
  KubeApiError,
  type KubeClient,
  type KubeObject,
  resources,
} from '@rollcall/shared/kubernetes';
import { type Kind, readKinds } from './namespaced-kinds.ts';
import { lookBinding, lookName, memberName } from './member-access-objects.ts';

type Kube = Pick<KubeClient, 'create' | 'delete' | 'listPage' | 'raw'>;

/** What Kubernetes and we put into every namespace. Events are about what is there; whatever else somebody put there counts. */
const ofEveryNamespace: Readonly<Record<string, readonly string[]>> = {
  ConfigMap: ['kube-root-ca.crt', 'openshift-service-ca.crt'],
  ServiceAccount: ['default', memberName],
  RoleBinding: [memberName, lookName],
};
/** People may have a kind of that name, too. */
const isOnlyAboutOthers = ({ resource: { kind, group } }: Kind): boolean =>
  kind === 'Event' && (group === '' || group === 'events.k8s.io');

/** More than any kind has of what does not count. */
const pageSize = 10;
const atOnce = 8;
const mostKindsNamed = 8;
const allowedWithinMs = 5000;
const tryAgainMs = 100;

interface Found {
  readonly kind: string;
  readonly count: number;
}

/** The API server takes a moment to read a binding that was just made; behind one address there may be several of them. */
async function onceAllowed<Result>(deadlineMs: number, work: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isForbidden(error) || performance.now() > deadlineMs) throw error;
      await delay(tryAgainMs);
    }
  }
}

async function count(kube: Kube, namespace: string, kind: Kind): Promise<Found> {
  const { resource, label } = kind;
  try {
    const how = { namespace, limit: pageSize, metadataOnly: true };
    const { items, remaining } = await kube.listPage<KubeObject>(resource, how);
    const own = resource.group === '' || resource.group === resources.roleBindings.group;
    const expected = own ? (ofEveryNamespace[resource.kind] ?? []) : [];
    const others = items.filter(({ metadata: { name = '' } }) => !expected.includes(name));
    return { kind: label, count: others.length + remaining };
  } catch (error) {
    // The kind is gone since it was listed, with everything of it.
    if (isNotFound(error)) return { kind: label, count: 0 };
    throw error;
  }
}

function inWords(found: readonly Found[]): string | undefined {
  const there = found.filter((each) => each.count > 0).toSorted((a, b) => a.kind.localeCompare(b.kind));
  if (there.length === 0) return undefined;
  const named = there.slice(0, mostKindsNamed).map((each) => `${each.count} ${each.kind}`);
  const more = there.length - named.length;
  return `in it: ${[...named, ...(more > 0 ? [`${more} more kinds`] : [])].join(', ')}`;
}

async function look(kube: Kube, namespace: string): Promise<string | undefined> {
  const { kinds, unknown } = await readKinds(kube);
  if (unknown.length > 0) return `nobody answers what is in it of ${unknown.join(', ')}`;
  const deadlineMs = performance.now() + allowedWithinMs;
  const found: Found[] = [];
  const queue = kinds.filter((kind) => !isOnlyAboutOthers(kind)).values();
  const work = async () => {
    for (const kind of queue) found.push(await onceAllowed(deadlineMs, () => count(kube, namespace, kind)));
  };
  const done = await Promise.allSettled(Array.from({ length: atOnce }, work));
  const failed = done.find((each) => each.status === 'rejected');
  if (failed) throw failed.reason;
  return inWords(found);
}

/**
 * Looks for what people have put into the namespace of a cluster that leaves, by a right that the provisioner gives itself in
 * that namespace and takes away again (ADR 19). Only kinds and numbers are told: names may be of Secrets.
 * @returns why the namespace must not be deleted; undefined where nothing of anybody is in it. In doubt it stays
 * @throws RollcallError KUBE_UNREACHABLE, and KUBE_API for the server's own trouble: try again
 */
export async function whatIsIn(kube: Kube, namespace: string): Promise<string | undefined> {
  try {
    try {
      await kube.create(resources.roleBindings, lookBinding(namespace));
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    return await look(kube, namespace);
  } catch (error) {
    if (!(error instanceof KubeApiError) || error.retry) throw error;
    return `the hub could not look into it: ${error.message}`;
  } finally {
    await kube.delete(resources.roleBindings, lookName, { namespace });
  }
}
