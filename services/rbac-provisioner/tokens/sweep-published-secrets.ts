import type { EventLog } from '@rollcall/shared/bus';
import { toRollcallError } from '@rollcall/shared/errors';
import { isTakenBack, tokenRecord } from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';

/** A Secret that could not be removed for so long is a person's business; tokens of long ago cost nothing at a start. */
const giveUpAfterMs = 86_400_000;

/**
 * Looks at published tokens when they expire: no event tells of an end by time alone; and whether the Secrets of the others are
 * there. Every replica does, because the one that made a Secret may be gone by then; removing or telling twice is harmless.
 * @param options.lookAt - removes the Secret of a token that has ended
 * @param options.lookForSecret - tells of the Secret of a good token that is gone
 */
export function expirePublishedSecrets(options: {
  log: Pick<EventLog, 'read' | 'scan'>;
  everyMs: number;
  logger: Logger;
  nowMs(): number;
  lookAt(publicationId: string): Promise<unknown>;
  lookForSecret(publicationId: string): Promise<unknown>;
}): { drain(): Promise<void> } {
  const { log, logger } = options;
  const open = new Set<string>();
  let fromSequence = 1;

  async function lookAtOne(id: string, nowMs: number): Promise<void> {
    // A person may have changed the ttl since.
    const { declaration } = tokenRecord(await log.read({ kind: 'token', id }));
    const endsAtMs = declaration?.expiresAtMs;
    const isLongPast = endsAtMs !== undefined && nowMs - endsAtMs > giveUpAfterMs;
    if (isLongPast || (declaration && isTakenBack(declaration))) open.delete(id);
    else if (endsAtMs !== undefined && endsAtMs <= nowMs) {
      await options.lookAt(id);
      open.delete(id);
    } else await options.lookForSecret(id);
  }

  async function sweep(): Promise<void> {
    for await (const event of log.scan({ filter: 'token.*.published', fromSequence })) {
      fromSequence = event.sequence + 1;
      open.add(event.id);
    }
    for (const id of open) {
      // One that cannot be read, of a newer version for example, keeps no other one.
      await lookAtOne(id, options.nowMs()).catch((thrown: unknown) =>
        logger.warn(
          { err: toRollcallError(thrown), object: `token/${id}` },
          'a published token will be looked at again',
        ),
      );
    }
  }

  let timer: NodeJS.Timeout | undefined;
  let isEnding = false;
  let running = Promise.resolve();
  async function sweepAndGoOn(): Promise<void> {
    try {
      await sweep();
    } catch (thrown) {
      logger.warn({ err: toRollcallError(thrown) }, 'published tokens will be looked at again');
    }
    if (!isEnding) timer = setTimeout(next, options.everyMs);
  }
  function next(): void {
    running = sweepAndGoOn();
  }
  next();
  return {
    async drain() {
      isEnding = true;
      clearTimeout(timer);
      await running;
    },
  };
}
