import type { ManagedClusterSet } from '@rollcall/shared/resources';
import {
  asForeignObject,
  type ForeignHead,
  type ForeignObject,
  type ForeignSystem,
  foreignLabelsIn,
  isOdd,
  leftBehind,
} from './foreign-cluster.ts';

export type SetSelector = ManagedClusterSet['spec']['selector'];

/** The kind by which a system groups clusters. */
export interface ForeignSetKind {
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  /** Fields of the spec that `read` looks at. */
  readonly fields: readonly string[];
  /** @returns the selector in our words, or why there is none */
  read(object: ForeignObject): SetSelector | string;
}

/** A set of another system, as it can be here. */
export interface ForeignSet {
  /** Kind and name there. */
  readonly source: string;
  readonly name: string;
  readonly selector: SetSelector | string;
  /** What becomes different: a line for each. */
  readonly notes: readonly string[];
}

function keysOf({ labelSelector }: SetSelector): string[] {
  const { matchLabels = {}, matchExpressions = [] } = labelSelector ?? {};
  return [...Object.keys(matchLabels), ...matchExpressions.map(({ key }) => key)];
}

/** Reads one set, with a note for what stays behind, and where it selects by what no cluster keeps here. */
export function readForeignSet(
  system: ForeignSystem,
  { read, fields }: ForeignSetKind,
  given: ForeignHead,
): ForeignSet {
  const object = asForeignObject(given);
  if (isOdd(object)) return { source: object.source, name: object.name, selector: object.why, notes: [] };
  const { kind, metadata } = object;
  const selector = read(object);
  const lost = typeof selector === 'string' ? [] : foreignLabelsIn(keysOf(selector), system);
  return {
    source: `${kind}/${metadata.name}`,
    name: metadata.name,
    selector,
    notes: [
      ...(lost.length === 0
        ? []
        : [`it selects by labels that clusters do not keep here: ${lost.join(', ')}`]),
      ...leftBehind(object, fields),
    ],
  };
}
