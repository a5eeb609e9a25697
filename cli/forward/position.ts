import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import { stateDirectory } from '../state-directory.ts';
import { writePrivate } from '../up/private-files.ts';

interface Point {
  /** Sequence of the next event. */
  readonly next: number;
  /** Of the hub, when everything before that was sent: a restore takes events back, and others come in their place. */
  readonly epoch: number;
}

/**
 * Where to go on in a hub that may have been restored: what came in place of what it took back is sent as well.
 * @param hub.from - the first event of an epoch after that of the point
 */
export function goOnFrom(
  at: Point,
  hub: { readonly epoch: number; readonly from: number; readonly lastSequence: number },
): Point {
  const next = Math.min(at.next, hub.from, hub.lastSequence + 1);
  return { next, epoch: next < at.next ? hub.epoch : Math.max(at.epoch, hub.epoch) };
}

/** Where a forwarder is in the history, kept from one start to the next. */
export interface Position {
  readonly place: string;
  /** Kept as soon as it is set; undefined: it has never run. */
  at: Point | undefined;
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
    get at() {
      return kept;
    },
    set at(at) {
      if (at === undefined || (at.next === kept?.next && at.epoch === kept.epoch)) return;
      writePrivate(place, `${at.next} ${at.epoch}\n`);
      kept = at;
    },
  };
}

function parsed(place: string): Point {
  const text = readFileSync(place, 'utf8').trim();
  // One of an older version has no epoch: rather is something sent again than left out.
  const [, next, epoch = '1'] = /^(\d{1,15})(?: (\d{1,15}))?$/.exec(text) ?? [];
  if (next !== undefined) return { next: Number(next), epoch: Number(epoch) };
  throw new RollcallError(
    'STATE_INVALID',
    `"${place}" is no place in a history, as one who forwards events keeps it`,
  );
}
