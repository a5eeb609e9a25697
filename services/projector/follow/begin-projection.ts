import { setTimeout as delay } from 'node:timers/promises';
import type { Arrivals, Consumption } from '@rollcall/shared/decisions';
import { toRollcallError } from '@rollcall/shared/errors';
import type { ServiceContext } from '@rollcall/shared/service';
import { type Projection, retryInMs } from '../apply/projection.ts';
import type { ProjectorConfig } from '../config.ts';
import type { Comparison } from '../queue/compare-everything.ts';
import type { FactsAsHeard } from '../queue/facts-after-hint.ts';
import { compareHistory } from './compare-history.ts';
import { followEvents } from './follow-events.ts';
import { followForeignChanges } from './mark-foreign-changes.ts';
import { followFacts } from './follow-facts.ts';

export interface BegunProjection {
  /** Why nothing is shown yet, or undefined. */
  notReady(): string | undefined;
  /** Whether everything was compared once. */
  isMarked(): boolean;
  /** Takes no more events, and ends with the passes that run. The signal was aborted before. */
  drain(): Promise<void>;
}

/** Hints of facts that came while the bus was away are lost: then everything is compared once more. */
async function followReconnects({ nc }: ServiceContext, comparison: Comparison): Promise<void> {
  for await (const { type } of nc.status())
    // It rejects only when the projector stops.
    if (type === 'reconnect') void comparison.run().catch(() => undefined);
}

/** Shows what happens as soon as it can: a start waits for nobody, and what cannot be done yet is tried again. */
export function beginProjection(
  context: ServiceContext,
  parts: {
    projection: Projection;
    comparison: Comparison;
    facts: FactsAsHeard;
    arrivals: Arrivals;
    config: Pick<ProjectorConfig, 'joinDebounceMs'> & { readonly epoch: number };
    signal: AbortSignal;
  },
): BegunProjection {
  const { projection, comparison, facts, arrivals, config, signal } = parts;
  const { view, queue } = projection;
  let consumption: Consumption | undefined;
  let problem = 'waiting for the API server';
  let isMarked = false;

  async function untilDone<Result>(what: () => Promise<Result>): Promise<Result> {
    for (let failures = 1; ; failures++) {
      try {
        return await what();
      } catch (thrown) {
        const err = toRollcallError(thrown);
        const delayMs = retryInMs(err, failures);
        problem = err.message;
        context.logger.warn({ err, delayMs }, 'projection cannot begin yet');
        await delay(delayMs, undefined, { signal });
      }
    }
  }

  async function begin(): Promise<void> {
    await view.whenDeclaredSynced;
    followFacts(context, projection, facts);
    await view.whenSynced;
    // Before anything is shown: over an older history who has left would be shown again.
    await untilDone(() => compareHistory(context, projection, config.epoch));
    consumption = await untilDone(() => followEvents(context, projection, { ...config, arrivals }));
    followForeignChanges(view, queue);
    void followReconnects(context, comparison);
    await comparison.run();
    isMarked = true;
  }
  // Nothing else is thrown: it ends by the signal.
  const begun = begin().catch(() => undefined);
  return {
    notReady: () => (consumption ? undefined : problem),
    isMarked: () => isMarked,
    async drain() {
      await begun;
      const drained = consumption?.drain();
      await queue.stop();
      await drained;
    },
  };
}
