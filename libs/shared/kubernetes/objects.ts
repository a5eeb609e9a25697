/** What Kubernetes keeps of every object. Only the fields that Rollcall reads or writes. */
export interface ObjectMeta {
  name?: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  finalizers?: string[];
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** An object on its way to the API server, which completes its metadata. */
export interface KubeObject<Spec = unknown, Status = unknown> {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: Spec;
  status?: Status;
}

/** An object as the API server gave it: what it always fills in is there. */
export type StoredObject<T extends KubeObject = KubeObject> = T & {
  metadata: ObjectMeta & { name: string; uid: string; resourceVersion: string };
};

/** The key of an object among those of its resource: `namespace/name`, or `name` where there is no namespace. */
export function objectKey(metadata: { name?: string; namespace?: string }): string {
  const name = metadata.name ?? '';
  return metadata.namespace === undefined ? name : `${metadata.namespace}/${name}`;
}
