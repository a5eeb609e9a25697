import { departuresAtOnce } from '../../libs/shared/decisions/pace-departures.ts';
import { write } from './joins.ts';
import { createKeyCutter } from './key-cuts.ts';
import { createTimes, type Times } from './queues/times.ts';
import { anyOf, inTurn, work, type World } from './world.ts';

export interface Leavings {
  /** From the deletion until the key is cut on every server. */
  readonly cutMs: Times;
  /** … until the namespace is empty and the name free. */
  readonly leftMs: Times;
}

/** What is stored of a cluster that a person deletes: leaving, revoked, cut, access gone, left, name free, counted. */
const appends = 7;
/** Kubernetes empties so many namespaces at a time (its namespace controller, by default). */
const namespacesAtOnce = 10;

/** Clusters that a person deletes all at once, while nobody joins. */
export function leaveAtOnce(world: World, count: number): Leavings {
  const { timeline, numbers, nats, of, api, grain } = world;
  const [cutMs, leftMs] = [createTimes(), createTimes()];
  const emptiers: (() => void)[] = [];
  let [emptying, deciding] = [0, 0];
  const waiting: (() => void)[] = [];

  const cut = createKeyCutter(world);

  function empty(then: () => void): void {
    emptiers.push(then);
    const next = () => {
      if (emptying >= namespacesAtOnce) return;
      const done = emptiers.shift();
      if (!done) return;
      emptying++;
      inTurn(
        numbers.departureReads,
        (again) => api.submit(numbers.apiReadMs * grain, { whenOver: again }),
        () => {
          emptying--;
          done();
          next();
        },
      );
    };
    next();
  }

  function decideNext(): void {
    if (deciding >= departuresAtOnce) return;
    const next = waiting.shift();
    if (!next) return;
    deciding++;
    next();
  }

  for (let one = 0; one < Math.max(1, Math.round(count / grain)); one++) {
    waiting.push(() =>
      work(world, { on: anyOf(world, of.approver), costMs: numbers.approverJoinMs }, () => {
        const [leader] = nats;
        if (leader) work(world, { on: leader, costMs: appends * numbers.natsRequestMs });
        timeline.after(numbers.storedMs, () => {
          deciding--;
          decideNext();
        });
        cut(() => {
          cutMs.add(timeline.nowMs());
          const isLeft = () => leftMs.add(timeline.nowMs());
          const writes = (numbers.showsAll > 0 ? 3 : 0) + (numbers.namespacesForAll > 0 ? 1 : 0);
          inTurn(
            writes,
            (next) => write(world, next),
            () => (numbers.namespacesForAll > 0 ? empty(isLeft) : isLeft()),
          );
        });
      }),
    );
  }
  for (let first = 0; first < departuresAtOnce; first++) decideNext();
  return { cutMs, leftMs };
}
