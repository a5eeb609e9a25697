import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import { stateDirectory } from '../state-directory.ts';
import { writePrivate } from '../up/private-files.ts';

/** Where a forwarder is in the history, kept from one start to the next. */
export interface Position {
  readonly place: string;
  /** Sequence of the next event, kept as soon as it is set; undefined: it has never run. */
  next: number | undefined;
}

/**
 * @param given - the file; default: one in the state directory for each sink and choice of events
 * @param key - the sink and what is chosen for it
 * @throws RollcallError STATE_INVALID: the file holds something else
 */
export function openPosition(given: string | undefined, key: string): Position {
  const name = createHash('sha256').update(key).digest('hex').slice(0, 16);
  const place = given ?? join(stateDirectory(), 'forward', `${name}.position`);
  let kept = existsSync(place) ? parsed(place) : undefined;
  return {
    place,
    get next() {
      return kept;
    },
    set next(next) {
      if (next === kept || next === undefined) return;
      writePrivate(place, `${next}\n`);
      kept = next;
    },
  };
}

function parsed(place: string): number {
  const text = readFileSync(place, 'utf8').trim();
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new RollcallError(
    'STATE_INVALID',
    `"${place}" is no place in a history, as one who forwards events keeps it`,
  );
}
