import type { ServiceContext } from '@rollcall/shared/service';
import { markWholeHistory, operationsKey, predefinedKey, setKey } from '../apply/event-keys.ts';
import { isUnboundObject } from '../apply/project-predefined.ts';
import type { Projection } from '../apply/projection.ts';
import { ownSets } from '../desired/built-in-sets.ts';

/** All that something ever happened to, and all that Kubernetes has. @returns how many clusters, tokens and policies that are */
export async function markEverything(
  { log }: Pick<ServiceContext, 'log'>,
  { view, queue }: Projection,
): Promise<number> {
  const count = await markWholeHistory(log, queue);
  // Also where nobody ever put a member out: a restored ConfigMap may show what is held no more.
  queue.mark(operationsKey, 'fact');
  for (const name of [...ownSets.keys(), ...view.sets.list().map(({ metadata }) => metadata.name)])
    queue.mark(setKey(name), 'count');
  for (const object of view.clusters.list()) {
    if (isUnboundObject(object)) queue.mark(predefinedKey(object.metadata.name), 'fact');
  }
  return count;
}
