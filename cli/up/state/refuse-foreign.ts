import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import { movedAsidePrefix, restoringDirectory } from './half-restored.ts';

/** What nobody but a hub leaves, also one that was never made to its end; `logs` or `run` could be anybody's. */
const marks = [
  'hub.json',
  'up.lock',
  restoringDirectory,
  join('identities', 'setup.json'),
  join('offline', 'keys.json'),
  join('nats', 'nats.conf'),
  join('kubernetes', 'up.lock'),
];

/**
 * Before a directory is deleted with all that is in it: ROLLCALL_HOME may lead anywhere.
 * @throws RollcallError USAGE where it has something in it, and nothing of a hub
 */
export function refuseForeign(stateDir: string): void {
  const found = existsSync(stateDir) ? readdirSync(stateDir) : [];
  const isOurs =
    found.some((name) => name.startsWith(movedAsidePrefix)) ||
    marks.some((mark) => existsSync(join(stateDir, mark)));
  if (found.length === 0 || isOurs) return;
  const shown = found.toSorted().slice(0, 3).join(', ');
  throw new RollcallError(
    'USAGE',
    `"${stateDir}" has nothing of a hub in it, but ${shown}${found.length > 3 ? ' …' : ''}: it is not deleted; ROLLCALL_HOME says which directory is meant`,
  );
}
