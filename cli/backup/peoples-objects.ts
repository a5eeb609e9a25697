import type { KubeClient, KubeObject, StoredObject } from '@rollcall/shared/kubernetes';
import { apiGroup, labels } from '@rollcall/shared/resources';
import { peoplesKinds } from './backup-format.ts';

/** Marks of ours are set by us alone, and made again; the set of a cluster is a person's. */
const isOurMark = (key: string) => key.startsWith(`${apiGroup}/`) && key !== labels.clusterSet;
const isForeign = ([key]: [string, string]) => !isOurMark(key) && !key.startsWith('kubectl.kubernetes.io/');

function withoutMarks(entries: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(entries).filter(isForeign));
}

/** What of an object a person wrote; the rest is the API server's or ours. An operation is none for a later epoch. */
function asWritten({ apiVersion, kind, metadata, ...rest }: StoredObject<KubeObject>): KubeObject {
  const { name, namespace } = metadata;
  const { operation: _spoken, ...spec } = (rest as { spec?: Record<string, unknown> }).spec ?? {};
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      labels: withoutMarks(metadata.labels ?? {}),
      annotations: withoutMarks(metadata.annotations ?? {}),
    },
    spec,
  };
}

/** Made by us from events, so it is made by us again. */
function isProjected({ metadata }: StoredObject<KubeObject>): boolean {
  return metadata.labels?.[labels.createdBy] === 'projector';
}

/** What people keep in the hub's API server: sets, policies, tokens (their public halves), clusters laid down beforehand, bindings. */
export async function readPeoplesObjects(client: KubeClient): Promise<KubeObject[]> {
  const lists = await Promise.all(peoplesKinds.map((kind) => client.list<KubeObject>(kind)));
  return lists
    .flat()
    .filter((object) => !isProjected(object) && object.metadata.deletionTimestamp === undefined)
    .map(asWritten);
}
