import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { heldOperationsPlace, readShownOperations, type ShownOperations } from '@rollcall/shared/resources';
import { printable } from '../terminal/printable.ts';

/** The ConfigMap in which the hub shows what of a bulk change waits. */
export type OperationsObject = KubeObject & { readonly data?: Readonly<Record<string, string>> };

/** @throws KubeApiError where this person may not read it */
export async function shownOperations(client: Pick<KubeClient, 'get'>): Promise<ShownOperations> {
  const { name, namespace } = heldOperationsPlace;
  const found = await client.get<OperationsObject>(resources.configMaps, { name, namespace });
  return readShownOperations(found?.data);
}

const mostNamed = 10;

/** `edge-1, edge-2 and 40 more`: a mass does not fit a line. */
export function someNames(clusters: readonly string[]): string {
  const named = clusters.slice(0, mostNamed).join(', ');
  const more = clusters.length - mostNamed;
  return printable(more > 0 ? `${named} and ${more} more` : named);
}
