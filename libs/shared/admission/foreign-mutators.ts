import { type KubeClient, type KubeObject, isNotFound, resources } from '@rollcall/shared/kubernetes';
import { apiGroup } from '@rollcall/shared/resources';
import { shippedAttribution } from './shipped-policies.ts';

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
}
type MutatingPolicy = KubeObject<{
  readonly matchConstraints?: { readonly resourceRules?: readonly Rule[] };
}>;
type Webhooks = KubeObject & { readonly webhooks?: readonly { readonly rules?: readonly Rule[] }[] };

const isAboutUs = ({ apiGroups = [], resources: plurals = [] }: Rule): boolean =>
  apiGroups.some((group) => group === apiGroup || group === '*') && plurals.length > 0;

/**
 * Mutating admission of others that matches our kinds: it may change what a person sends before our policies see it, a denial into
 * an approval for example, and nothing of that is seen afterwards.
 * @returns kind and name of each
 * @throws KubeApiError, where one may not look
 */
export async function foreignMutators(client: Pick<KubeClient, 'list'>): Promise<string[]> {
  const [policies, webhooks] = await Promise.all([
    client.list<MutatingPolicy>(resources.mutatingAdmissionPolicies).catch((error: unknown) => {
      // Kubernetes before 1.36 has none.
      if (isNotFound(error)) return [];
      throw error;
    }),
    client.list<Webhooks>(resources.mutatingWebhookConfigurations),
  ]);
  const ours = new Set(shippedAttribution().map(({ metadata }) => metadata.name));
  const found = [
    ...policies
      .filter(({ metadata }) => !ours.has(metadata.name))
      .filter(({ spec }) => spec?.matchConstraints?.resourceRules?.some(isAboutUs))
      .map(({ metadata }) => `MutatingAdmissionPolicy ${metadata.name}`),
    ...webhooks
      .filter((each) => each.webhooks?.some(({ rules = [] }) => rules.some(isAboutUs)))
      .map(({ metadata }) => `MutatingWebhookConfiguration ${metadata.name}`),
  ];
  return found.toSorted();
}
