import type { ServiceContext } from '@rollcall/shared/service';
import { clusterKey } from '../apply/event-keys.ts';
import type { Projection } from '../apply/projection.ts';
import type { FactsAsHeard } from '../queue/facts-after-hint.ts';

/** Facts are state, and what tells of them is a hint, which one replica hears. */
export function followFacts(
  { nc }: Pick<ServiceContext, 'nc'>,
  { queue }: Projection,
  facts: FactsAsHeard,
): void {
  const look = (clusterId: string) => queue.mark(clusterKey(clusterId), 'fact');
  facts.lookAgainBy(look);
  nc.subscribe('rollcall.stored-facts.*', {
    queue: 'projector',
    callback: (error, message) => {
      if (error) return;
      const clusterId = message.subject.split('.')[2] ?? '';
      // What ends by itself says that those of a cluster that left are forgotten: there are none to wait for.
      const isEnd = message.headers?.has('Nats-TTL') ?? false;
      const sequence = Number(message.headers?.get('Nats-Sequence'));
      if (!isEnd && Number.isSafeInteger(sequence)) facts.heard(clusterId, sequence);
      look(clusterId);
    },
  });
}
