import type { EventLog } from '@rollcall/shared/bus';
import { wishesAggregate } from '@rollcall/shared/events';
import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { dataOfWishes, heldWishesPlace } from '@rollcall/shared/resources';
import { desiredWishes } from './desired-wishes.ts';
import type { Pass } from './dirty-objects.ts';
import type { WriteBudget } from './write-budget.ts';

type Data = Readonly<Record<string, string>>;

/** Shows what of a mass of wishes waits. Rarely there is any, so the ConfigMap is read and not watched. */
export function createWishesProjection(tools: {
  readonly log: Pick<EventLog, 'read'>;
  readonly client: Pick<KubeClient, 'get' | 'mergePatch'>;
  readonly budget: Pick<WriteBudget, 'take'>;
  readonly nowMs: () => number;
}): () => Promise<Pass> {
  const { log, client, budget, nowMs } = tools;
  const { name, namespace } = heldWishesPlace;
  const place = { name, namespace };
  return async () => {
    const { wishes, againInMs } = desiredWishes(await log.read(wishesAggregate), nowMs());
    const data = dataOfWishes(wishes);
    const shown = await client.get<KubeObject & { readonly data?: Data }>(resources.configMaps, place);
    const differs = Object.entries(data).some(([key, text]) => (shown?.data?.[key] ?? null) !== text);
    if (differs) {
      await budget.take('transition');
      await client.mergePatch(resources.configMaps, name, { data }, { namespace });
    }
    return { isShown: true, againInMs };
  };
}
