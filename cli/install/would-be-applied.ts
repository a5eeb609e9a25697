import {
  type AppliedObject,
  applyManifests,
  type KubeClient,
  type KubeObject,
} from '@rollcall/shared/kubernetes';
import { countedObjects } from './counted-objects.ts';

const atOnce = 8;
/** Of the fields of one object that change; a Deployment of another version has about as many. */
const mostShown = 4;
/** A longer value says less than its field. */
const mostCharacters = 60;

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
    ...changed.map((one) => `${one.kind} ${one.name}: would be changed (${shownChanges(one)})`),
    ...(unchanged > 0 ? [`${unchanged} object${unchanged === 1 ? '' : 's'}: unchanged`] : []),
  ];
}

function shownChanges({ kind, differences }: AppliedObject): string {
  const more = differences.length - mostShown;
  const shown = differences.slice(0, mostShown).map(({ path, before, after }) => {
    const values = [before, after].map(shortValue);
    const isTold = kind !== 'Secret' && !values.includes(undefined);
    return isTold ? `${path}: ${values.join(' → ')}` : path;
  });
  return [...shown, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}

/** @returns undefined for what is too much for a line */
function shortValue(value: unknown): string | undefined {
  if (value === undefined) return 'none';
  const text = typeof value === 'object' ? undefined : String(value);
  return text !== undefined && text.length <= mostCharacters && !text.includes('\n') ? text : undefined;
}
