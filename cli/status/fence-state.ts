import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { parseAllDocuments } from 'yaml';
import { manifestsIn } from '../up/hub-manifests.ts';

type Policy = KubeObject<{ failurePolicy?: string }>;
type Binding = KubeObject<{ validationActions?: readonly string[] }>;

const policyKind = resources.validatingAdmissionPolicies.kind;
const bindingKind = resources.validatingAdmissionPolicyBindings.kind;

/** What deploy/fence makes, by kind and name. */
function wanted(kind: string): string[] {
  return manifestsIn('fence')
    .flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as KubeObject | null))
    .flatMap((object) => (object?.kind === kind && object.metadata.name ? [object.metadata.name] : []));
}

/**
 * Whether the fence around people is there (decision 9). Only looks; whether it refuses as it must, the approver tries itself.
 * @returns what is missing or has been made toothless; empty: it is in place
 * @throws KubeApiError, where this person may not look
 */
export async function fenceFindings(client: Pick<KubeClient, 'list'>): Promise<string[]> {
  const [policies, bindings] = await Promise.all([
    client.list<Policy>(resources.validatingAdmissionPolicies),
    client.list<Binding>(resources.validatingAdmissionPolicyBindings),
  ]);
  const policyOf = new Map(policies.map((policy) => [policy.metadata.name, policy]));
  const bindingOf = new Map(bindings.map((binding) => [binding.metadata.name, binding]));
  return [
    ...wanted(policyKind).flatMap((name) => {
      const found = policyOf.get(name);
      if (!found) return [`${policyKind} ${name} is missing`];
      return found.spec?.failurePolicy === 'Ignore' ? [`${policyKind} ${name} lets errors pass`] : [];
    }),
    ...wanted(bindingKind).flatMap((name) => {
      const found = bindingOf.get(name);
      if (!found) return [`${bindingKind} ${name} is missing`];
      return found.spec?.validationActions?.includes('Deny') ? [] : [`${bindingKind} ${name} does not deny`];
    }),
  ];
}
