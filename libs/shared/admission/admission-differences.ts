import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import {
  isNotFound,
  type KubeClient,
  type KubeObject,
  type Resource,
  resources,
} from '@rollcall/shared/kubernetes';
import { shippedPolicies, shippedAttribution } from './shipped-policies.ts';

/** One thing that is not as it was shipped. */
export interface AdmissionDifference {
  /** The policy that does not keep what it should. */
  readonly policy: string;
  /** As a sentence for people. */
  readonly problem: string;
}

/** The admission policies as the API server has them. */
export interface FoundAdmission {
  /** Nothing: they are the shipped ones. */
  readonly differences: readonly AdmissionDifference[];
  /**
   * Names these very objects, those that fill in names among them as far as they are there. It is another one once any of them was
   * written or made again, whatever it says now; undefined while one is missing that must be there.
   */
  readonly version: string | undefined;
  /** When the youngest of them was made, in ms of the API server's clock; undefined where one was changed since or is missing. */
  readonly madeAtMs: number | undefined;
}

interface Rule {
  readonly scope?: string;
}
interface Spec {
  readonly failurePolicy?: string;
  readonly matchConstraints?: {
    readonly matchPolicy?: string;
    readonly namespaceSelector?: object;
    readonly objectSelector?: object;
    readonly resourceRules?: readonly Rule[];
  };
  readonly policyName?: string;
  readonly validationActions?: readonly string[];
}
type Policy = KubeObject<Spec>;

/** As the API server keeps it: with what it fills in where a manifest says nothing. */
function filledIn({ matchConstraints: match, ...spec }: Spec): object {
  if (!match) return spec;
  const { matchPolicy = 'Equivalent', namespaceSelector = {}, objectSelector = {}, resourceRules } = match;
  const rules = resourceRules?.map((rule) => ({ scope: '*', ...rule }));
  return {
    failurePolicy: 'Fail',
    ...spec,
    matchConstraints: { ...match, matchPolicy, namespaceSelector, objectSelector, resourceRules: rules },
  };
}

const nameOf = ({ kind, metadata }: Policy) => `${kind} ${metadata.name}`;

function problemOf(shipped: Policy, applied: Policy | undefined): string | undefined {
  const what = nameOf(shipped);
  if (!applied) return `${what} is missing`;
  if (applied.metadata.deletionTimestamp !== undefined) return `${what} is being deleted`;
  const [wanted, found] = [shipped.spec ?? {}, applied.spec ?? {}];
  if (isDeepStrictEqual(filledIn(wanted), filledIn(found))) return undefined;
  if (wanted.validationActions?.includes('Deny') && !found.validationActions?.includes('Deny'))
    return `${what} does not deny`;
  if (found.failurePolicy === 'Ignore') return `${what} lets errors pass`;
  return `${what} was changed: it is not the one that this version ships`;
}

type Client = Pick<KubeClient, 'list'>;

async function listAttribution(client: Client, resource: Resource): Promise<Policy[]> {
  try {
    return await client.list<Policy>(resource);
  } catch (error) {
    // Kubernetes before 1.36 has none.
    if (isNotFound(error)) return [];
    throw error;
  }
}

/**
 * Compares the admission policies in the API server with those that this version ships, policy by policy: one that is missing, does not
 * deny, matches less or asks something else holds nobody. The policies that fill in names may be missing, but may not say anything
 * else. Whether the API server acts on them, only a probe can say.
 * @throws KubeApiError, where one may not look
 */
export async function readAdmission(client: Client): Promise<FoundAdmission> {
  const all = await Promise.all([
    client.list<Policy>(resources.validatingAdmissionPolicies),
    client.list<Policy>(resources.validatingAdmissionPolicyBindings),
    listAttribution(client, resources.mutatingAdmissionPolicies),
    listAttribution(client, resources.mutatingAdmissionPolicyBindings),
  ]);
  const found = new Map(all.flat().map((object) => [nameOf(object), object]));
  const admission = shippedPolicies() as readonly Policy[];
  const attribution = (shippedAttribution() as readonly Policy[]).filter((policy) =>
    found.has(nameOf(policy)),
  );
  const differences = [...admission, ...attribution].flatMap((shipped) => {
    const problem = problemOf(shipped, found.get(nameOf(shipped)));
    return problem === undefined
      ? []
      : [{ policy: shipped.spec?.policyName ?? shipped.metadata.name ?? '', problem }];
  });
  const shippedAndFound = [...admission, ...attribution].map((shipped) => ({
    name: nameOf(shipped),
    metadata: found.get(nameOf(shipped))?.metadata,
  }));
  const isWhole = shippedAndFound.every(({ metadata }) => metadata !== undefined);
  const versions = shippedAndFound.map(
    ({ name, metadata }) => `${name} ${metadata?.uid} ${metadata?.generation}`,
  );
  const digest = createHash('sha256').update(versions.join('\n')).digest('hex');
  const madeAtMs = shippedAndFound.map(({ metadata }) =>
    metadata?.generation === 1 ? Date.parse(metadata.creationTimestamp ?? '') : Number.NaN,
  );
  const youngestMs = Math.max(...madeAtMs);
  return {
    differences,
    version: isWhole ? digest.slice(0, 32) : undefined,
    madeAtMs: Number.isNaN(youngestMs) ? undefined : youngestMs,
  };
}

/**
 * In what the admission policies in the API server differ from those that this version ships.
 * @returns nothing: it is in place
 * @throws KubeApiError, where one may not look
 */
export async function admissionDifferences(client: Client): Promise<readonly AdmissionDifference[]> {
  return (await readAdmission(client)).differences;
}
