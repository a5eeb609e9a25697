import { isDeepStrictEqual } from 'node:util';
import { type KubeClient, type KubeObject, type Resource, resources } from '@rollcall/shared/kubernetes';
import { shippedFence } from './shipped-fence.ts';

/** One thing that is not as it was shipped. */
export interface FenceDifference {
  /** The policy that does not keep what it should. */
  readonly policy: string;
  /** As a sentence for people. */
  readonly problem: string;
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

function problemOf(shipped: Policy, applied: Policy | undefined): string | undefined {
  const what = `${shipped.kind} ${shipped.metadata.name}`;
  if (!applied) return `${what} is missing`;
  if (applied.metadata.deletionTimestamp !== undefined) return `${what} is being deleted`;
  const [wanted, found] = [shipped.spec ?? {}, applied.spec ?? {}];
  if (isDeepStrictEqual(filledIn(wanted), filledIn(found))) return undefined;
  if (wanted.validationActions?.includes('Deny') && !found.validationActions?.includes('Deny'))
    return `${what} does not deny`;
  if (found.failurePolicy === 'Ignore') return `${what} lets errors pass`;
  return `${what} was changed: it is not the one that this version ships`;
}

async function byName(client: Pick<KubeClient, 'list'>, resource: Resource): Promise<Map<string, Policy>> {
  const all = await client.list<Policy>(resource);
  return new Map(all.map((object) => [object.metadata.name, object]));
}

/**
 * Compares the fence in the API server with the one that this version ships, policy by policy: one that is missing, does not
 * deny, matches less or asks something else holds nobody. Whether the API server acts on it, only a probe can say.
 * @returns nothing: it is in place
 * @throws KubeApiError, where one may not look
 */
export async function fenceDifferences(client: Pick<KubeClient, 'list'>): Promise<FenceDifference[]> {
  const policyKind = resources.validatingAdmissionPolicies;
  const [policies, bindings] = await Promise.all([
    byName(client, policyKind),
    byName(client, resources.validatingAdmissionPolicyBindings),
  ]);
  return (shippedFence() as readonly Policy[]).flatMap((shipped) => {
    const name = shipped.metadata.name ?? '';
    const applied = (shipped.kind === policyKind.kind ? policies : bindings).get(name);
    const problem = problemOf(shipped, applied);
    return problem === undefined ? [] : [{ policy: shipped.spec?.policyName ?? name, problem }];
  });
}
