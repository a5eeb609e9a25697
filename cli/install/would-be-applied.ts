import {
  type AppliedObject,
  applyManifests,
  type KubeClient,
  type KubeObject,
} from '@rollcall/shared/kubernetes';
import { countedObjects } from './counted-objects.ts';

const atOnce = 8;
/** Of the fields of one object that change; a Deployment of another version has about as many. */
const mostPaths = 4;

/**
 * What a dry run says of objects that would be applied: what is new counted by kind, and each that would change with its fields.
 * @throws KubeApiError what the API server would refuse
 */
export async function wouldBeApplied(client: KubeClient, objects: readonly KubeObject[]): Promise<string[]> {
  return linesOf(await applyManifests(client, objects, { atOnce, dryRun: true }));
}

export function linesOf(applied: readonly AppliedObject[]): string[] {
  const created = applied.filter(({ outcome }) => outcome === 'created');
  const changed = applied.filter(({ outcome }) => outcome === 'changed');
  const unchanged = applied.length - created.length - changed.length;
  return [
    ...countedObjects(created.map((one) => ({ ...one, outcome: 'would be created' }))),
    ...changed.map(({ kind, name, paths }) => `${kind} ${name}: would be changed (${shownPaths(paths)})`),
    ...(unchanged > 0 ? [`${unchanged} object${unchanged === 1 ? '' : 's'}: unchanged`] : []),
  ];
}

function shownPaths(paths: readonly string[]): string {
  const more = paths.length - mostPaths;
  return [...paths.slice(0, mostPaths), ...(more > 0 ? [`${more} more`] : [])].join(', ');
}
