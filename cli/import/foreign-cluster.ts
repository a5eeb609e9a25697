import { reservedPrefixes, type ManagedCluster } from '@rollcall/shared/resources';
import {
  carriedLabels,
  isLabelKey,
  isLabelValue,
  maxGivenLabels,
} from '@rollcall/shared/resources/label-syntax';
import { z } from 'zod';
import type { ForeignSetKind } from './foreign-set.ts';
import { readItems } from './read-items.ts';

const head = { apiVersion: z.string(), kind: z.string() };
const place = { name: z.string().min(1), namespace: z.string().optional() };

/** What says which object it is; everything in it was written by others. */
export const foreignHeadSchema = z.looseObject({ ...head, metadata: z.looseObject(place) });
export type ForeignHead = z.infer<typeof foreignHeadSchema>;

/** `spec:` with nothing after it is null. */
const loose = z
  .looseObject({})
  .nullish()
  .transform((fields) => fields ?? {});

/** What is read of an object of another system. */
const foreignObjectSchema = z.looseObject({
  ...head,
  metadata: z.looseObject({
    ...place,
    labels: z
      .record(z.string(), z.string())
      .nullish()
      .transform((labels) => labels ?? {}),
  }),
  spec: loose,
  status: loose,
});
export type ForeignObject = z.infer<typeof foreignObjectSchema>;

/** An object that cannot be read. */
export interface OddObject {
  /** Kind and name there. */
  readonly source: string;
  readonly name: string;
  readonly why: string;
}

const sourceOf = ({ kind, metadata: { namespace, name } }: ForeignHead) =>
  [kind, namespace, name].filter((part) => part !== undefined).join('/');

/** @returns the object as far as we read it, or why it cannot be read */
export function asForeignObject(given: ForeignHead): ForeignObject | OddObject {
  const { data, error } = foreignObjectSchema.safeParse(given);
  if (data) return data;
  const [issue] = error.issues;
  const why = `${issue?.path.join('.')}: ${issue?.message}`;
  return { source: sourceOf(given), name: given.metadata.name, why };
}

export const isOdd = (object: ForeignObject | OddObject): object is OddObject => !('kind' in object);

/** By which its agent will be known: the UID of the member's kube-system, or an id that the agent is given. */
export type MemberId = { readonly clusterId: string } | { readonly clientId: string };

type Settings = Partial<
  Pick<ManagedCluster['spec'], 'clusterType' | 'unschedulable' | 'taints' | 'clientConfigs'>
>;
export type Taints = NonNullable<Settings['taints']>;

/** What one system's object says in our words. */
export interface Reading {
  readonly name: string;
  readonly id: MemberId;
  /** Beside those of the object. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly clusterSet?: string | undefined;
  readonly settings: Settings;
  /** What is not taken over, or only in part: a line for each. */
  readonly notes: readonly string[];
}

export interface ForeignSystem {
  readonly title: string;
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Domains of labels that mean something to that system alone; subdomains too. */
  readonly ownDomains: readonly string[];
  /** Fields of the spec that `read` looks at; of every other one a person is told that it stays behind. */
  readonly fields: readonly string[];
  /** Where it groups clusters by objects of their own, in the same API group. */
  readonly sets?: ForeignSetKind;
  read(object: ForeignObject): Reading;
}

/** A cluster of another system, as it can be here. */
export interface ForeignCluster extends Omit<Reading, 'labels'> {
  /** Kind and name there. */
  readonly source: string;
  readonly labels: Readonly<Record<string, string>>;
}

const uid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Whether it looks like the UID of a namespace. */
export const isUid = (text: unknown): text is string => typeof text === 'string' && uid.test(text);

const domainOf = (key: string) => (key.includes('/') ? key.slice(0, key.indexOf('/')) : '');
const isUnder = (key: string, domains: readonly string[]) =>
  domains.some((domain) => `.${domainOf(key)}`.endsWith(`.${domain}`));
const reservedDomains = reservedPrefixes.map((prefix) => prefix.slice(0, -1));

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === false) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

const dropped = (what: string, names: readonly string[]) =>
  names.length === 0 ? [] : [`${what} dropped: ${names.join(', ')}`];

/** Those that clusters do not keep here: the system's own, and reserved ones. */
export function foreignLabelsIn(keys: readonly string[], { ownDomains }: ForeignSystem): string[] {
  return keys.filter((key) => isUnder(key, [...ownDomains, ...reservedDomains]));
}

/** Their own labels and reserved ones stay behind; each is named. */
function takeLabels(given: Readonly<Record<string, string>>, { title, ownDomains }: ForeignSystem) {
  const keys = Object.keys(given);
  const own = keys.filter((key) => isUnder(key, ownDomains));
  const reserved = keys.filter((key) => isUnder(key, reservedDomains));
  const rest = Object.entries(given).filter(([key]) => ![...own, ...reserved].includes(key));
  const usable = rest.filter(([key, value]) => isLabelKey(key) && isLabelValue(value));
  const unusable = rest.filter((entry) => !usable.includes(entry)).map(([key]) => key);
  const labels = carriedLabels(Object.fromEntries(usable));
  const surplus = usable.map(([key]) => key).filter((key) => !Object.hasOwn(labels, key));
  return {
    labels,
    notes: [
      ...dropped(`labels that belong to ${title} are`, own),
      ...dropped('labels with a reserved prefix are', reserved),
      ...dropped('labels that Kubernetes does not take are', unusable),
      ...dropped(`labels beyond the ${maxGivenLabels} that a cluster keeps are`, surplus.toSorted()),
    ],
  };
}

/** A line for each field of the spec that stays behind. */
export function leftBehind({ spec }: ForeignObject, fields: readonly string[]): string[] {
  const left = Object.keys(spec).filter((field) => !fields.includes(field) && !isEmpty(spec[field]));
  return left.map((field) => `spec.${field} is not taken over`);
}

/** Reads one object of a system, with a note for everything that stays behind. */
export function readForeign(system: ForeignSystem, given: ForeignHead): ForeignCluster | OddObject {
  const object = asForeignObject(given);
  if (isOdd(object)) return object;
  const { metadata } = object;
  const reading = system.read(object);
  const { labels, notes } = takeLabels({ ...reading.labels, ...metadata.labels }, system);
  return {
    ...reading,
    source: sourceOf(object),
    labels,
    notes: [
      ...(isEmpty(metadata['deletionTimestamp']) ? [] : ['it is being deleted there']),
      ...reading.notes,
      ...notes,
      ...leftBehind(object, system.fields),
    ],
  };
}

/** Whether a ManagedCluster can have it as the address of its API server. */
export const isHttpsAddress = (url: string): boolean => /^https:\/\/[^\s/?#]+/.test(url);

const taintSchema = z.looseObject({ key: z.string(), value: z.string().nullish(), effect: z.string() });
/** Of Open Cluster Management; what a taint there keeps from a cluster, other tools may keep from it by these. */
const alike: Readonly<Record<string, string>> = {
  NoSelect: 'NoExecute',
  NoSelectIfNew: 'NoSchedule',
  PreferNoSelect: 'PreferNoSchedule',
};
const likeOf = (effect: string) =>
  Object.hasOwn(alike, effect) ? `, and ${alike[effect]} is most like it` : '';
const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const;

/**
 * Taints of people; what a system puts on by itself says how the cluster is, and that shows here anew.
 * @param ownDomain - of the taints that the system puts on itself
 */
export function readTaints(given: unknown, ownDomain: string): { taints: Taints; notes: string[] } {
  const { items, notes } = readItems(given, 'taint', taintSchema);
  const all = items.filter(({ key }) => !isUnder(key, [ownDomain]));
  const taints = all.flatMap(({ key, value, effect: name }) => {
    const effect = effects.find((known) => known === name);
    if (effect === undefined) return [];
    return [{ key, effect, ...(value ? { value } : {}) }];
  });
  const strange = all.filter(({ effect }) => !effects.some((known) => known === effect));
  return {
    taints,
    notes: [
      ...strange.map(
        ({ key, effect }) =>
          `taint "${key}" is not taken over: there is no effect ${effect} here${likeOf(effect)}`,
      ),
      ...notes,
    ],
  };
}

/** A setting only where there is something to set. */
export const taintSettings = (taints: Taints): Settings => (taints.length === 0 ? {} : { taints });
