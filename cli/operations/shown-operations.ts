import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { heldOperationsPlace, readShownOperations, type ShownOperations } from '@rollcall/shared/resources';

/** The ConfigMap in which the hub shows what of a bulk change waits. */
export type OperationsObject = KubeObject & { readonly data?: Readonly<Record<string, string>> };

/** @throws KubeApiError where this person may not read it */
export async function shownOperations(client: Pick<KubeClient, 'get'>): Promise<ShownOperations> {
  const { name, namespace } = heldOperationsPlace;
  const found = await client.get<OperationsObject>(resources.configMaps, { name, namespace });
  return readShownOperations(found?.data);
}
