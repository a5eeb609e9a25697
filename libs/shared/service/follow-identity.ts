import { statSync } from 'node:fs';
import type { z } from 'zod';
import { toRollcallError } from '@rollcall/shared/errors';
import { readIdentity } from './identity.ts';
import type { Logger } from './log.ts';

/** A look at a file's time costs nothing; keys that roll over wait for their readers, not for this. */
const lookEveryMs = 2000;

/** An identity file whose keys roll over while the service runs. */
export interface FollowedIdentity<Identity> {
  /** As it was last read; a file that is half-written or missing changes nothing. */
  current(): Identity;
  /** Calls back after each change, until `stop`. */
  follow(logger: Pick<Logger, 'info' | 'warn'>, onChange?: () => void): void;
  stop(): void;
}

/**
 * Reads an identity file now, and again whenever it was written: a Secret that is mounted is replaced the same way.
 * @throws RollcallError CONFIG_INVALID when it cannot be read now
 */
export function followIdentity<Shape extends z.ZodRawShape>(
  path: string,
  shape: Shape,
): FollowedIdentity<ReturnType<typeof readIdentity<Shape>>> {
  const stamp = () => {
    const { mtimeMs, ino } = statSync(path);
    return `${ino} ${mtimeMs}`;
  };
  let current = readIdentity(path, shape);
  let read = stamp();
  let timer: NodeJS.Timeout | undefined;
  return {
    current: () => current,
    follow(logger, onChange) {
      timer ??= setInterval(() => {
        try {
          const now = stamp();
          if (now === read) return;
          current = readIdentity(path, shape);
          read = now;
        } catch (thrown) {
          logger.warn({ err: toRollcallError(thrown) }, 'the identity file cannot be read again');
          return;
        }
        logger.info({}, 'the identity file was read again');
        onChange?.();
      }, lookEveryMs);
      timer.unref();
    },
    stop: () => clearInterval(timer),
  };
}
