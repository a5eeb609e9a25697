import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { kinds } from '@rollcall/shared/resources';

type Crd = KubeObject<{ group: string; names: { kind: string; plural: string; shortNames?: string[] } }>;

/**
 * Other systems whose kinds have a short name of ours: what `kubectl get mcls` shows then is theirs or ours by chance.
 * @returns a line each
 */
export async function otherOwners(client: Pick<KubeClient, 'list'>): Promise<string[]> {
  const ours = new Set(kinds.flatMap(({ shortNames }) => shortNames));
  const crds = await client.list<Crd>(resources.customResourceDefinitions);
  return crds.flatMap(({ spec }) => {
    if (!spec || spec.group === 'rollcall.dev') return [];
    const shared = (spec.names.shortNames ?? []).filter((name) => ours.has(name));
    const full = `${spec.names.plural}.${spec.group}`;
    return shared.length === 0 ? [] : [`${shared.join(', ')} also mean ${full}; write full names`];
  });
}
