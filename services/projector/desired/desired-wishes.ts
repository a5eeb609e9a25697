import { type AggregateRecord, wishConfirmedForMs, type Wishes, wishesOf } from '@rollcall/shared/events';
import type { ShownWish, ShownWishes } from '@rollcall/shared/resources';
import { hubTime } from './hub-time.ts';

type MassWish = NonNullable<Wishes['held']>['wishes'][number];

const shown = ({ clusterName, clusterId, type, person, wish }: MassWish): ShownWish => ({
  cluster: clusterName,
  clusterId,
  wish: type,
  by: person,
  digest: wish,
});

/**
 * What of a mass of wishes waits for a person, and what a person confirmed and has not been acted on yet.
 * @returns `againInMs`: when a confirmation ends, although nothing happens
 */
export function desiredWishes(
  record: Pick<AggregateRecord, 'lastOf'>,
  nowMs: number,
): { wishes: ShownWishes; againInMs?: number } {
  const { held, confirmed } = wishesOf(record);
  const leftMs = confirmed ? confirmed.atMs + wishConfirmedForMs - nowMs : 0;
  const isConfirmed = confirmed !== undefined && confirmed.wishes.length > 0 && leftMs > 0;
  return {
    wishes: {
      ...(held ? { held: { id: held.id, limit: held.limit, wishes: held.wishes.map(shown) } } : {}),
      ...(isConfirmed
        ? { confirmed: { at: hubTime(confirmed.atMs), wishes: confirmed.wishes.map(shown) } }
        : {}),
    },
    ...(isConfirmed ? { againInMs: leftMs } : {}),
  };
}
