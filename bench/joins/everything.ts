import { apiVersionOf, type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { claim, claimKinds, installClaimKind } from '../../tests/harness/claim-kinds.ts';
import { madeUpNode } from './made-up-node.ts';

const nodes = 3;
const claims = 10;
const set = 'everything';

/**
 * Has the members' API server say all that an agent tells of its member, and the hub have a set for them.
 * @returns terms of their tokens
 */
export async function prepareEverything(
  admin: KubeClient,
  member: KubeClient,
): Promise<Readonly<Record<string, unknown>>> {
  for (let index = 0; index < nodes; index++) await member.create(resources.nodes, madeUpNode(index));
  for (const kind of Object.values(claimKinds)) {
    await installClaimKind(member, kind);
    for (let index = 0; index < claims; index++)
      await claim(member, kind, { name: `${kind.plural}-${index}.example.org`, value: `value ${index}` });
  }
  await admin.create(resources.managedClusterSets, {
    apiVersion: apiVersionOf(resources.managedClusterSets),
    kind: resources.managedClusterSets.kind,
    metadata: { name: set },
    spec: { selector: { type: 'ExclusiveLabel' } },
  } as KubeObject);
  return { clusterSet: set, labels: { tier: 'edge' } };
}
