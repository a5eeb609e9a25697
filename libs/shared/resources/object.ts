import type { z } from 'zod';
import type { KubeObject } from '@rollcall/shared/kubernetes';

/** A column of `kubectl get`; NAME comes first by itself. */
export interface Column {
  name: string;
  type: 'string' | 'integer' | 'boolean' | 'date';
  jsonPath: string;
  /** Shown with `-o wide` only. */
  wide?: true;
  description?: string;
}

/** A CEL rule over the whole object, checked by the API server on every write. */
export interface ObjectRule {
  rule: string;
  message: string;
}

/** Everything that makes one of our kinds; its CRD and its types are derived from this. */
export interface Kind<Spec extends z.ZodType = z.ZodType, Status extends z.ZodType = z.ZodType> {
  kind: string;
  plural: string;
  singular: string;
  shortNames: readonly string[];
  scope: 'Cluster' | 'Namespaced';
  /** First words of `kubectl explain`. */
  description: string;
  columns: readonly Column[];
  /** Beside name and namespace, what `--field-selector` takes; Kubernetes 1.31 and newer has them, an older one takes none. */
  selectableFields?: readonly string[];
  rules?: readonly ObjectRule[];
  spec: Spec;
  status: Status;
}

/** Keeps the types of spec and status of a kind. */
export function defineKind<Spec extends z.ZodType, Status extends z.ZodType>(
  kind: Kind<Spec, Status>,
): Kind<Spec, Status> {
  return kind;
}

/** An object of a kind as the API server returns it: defaults are filled in, status is missing until the first write. */
export interface ObjectOf<K extends Kind> {
  apiVersion: string;
  kind: string;
  metadata: KubeObject['metadata'] & { name: string };
  spec: z.output<K['spec']>;
  status?: z.output<K['status']>;
}

/** AGE, as every kind of Kubernetes has it. */
export const ageColumn: Column = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

/** Shows the status of one condition. */
export const conditionColumn = (name: string, condition: string): Column => ({
  name,
  type: 'string',
  jsonPath: `.status.conditions[?(@.type=="${condition}")].status`,
});

/** Refuses names that are no DNS labels: our names become namespaces and NATS subject tokens, and both end at a dot. */
export const nameIsDnsLabel: ObjectRule = {
  rule: "self.metadata.name.size() <= 63 && !self.metadata.name.contains('.')",
  message: 'metadata.name must be a DNS label: a-z, 0-9 and -, at most 63 characters',
};

/** Once shown, the witness stays: without this rule, removing `observed` first would let an older status in. */
export const observedStays: ObjectRule = {
  rule: '!has(oldSelf.status) || !has(oldSelf.status.observed) || (has(self.status) && has(self.status.observed))',
  message: 'status.observed cannot be removed',
};
