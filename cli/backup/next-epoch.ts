import { RollcallError } from '@rollcall/shared/errors';

/**
 * One more than any epoch that is known of: two epochs of the same number could not be told apart.
 * @param known - undefined: one that nobody can read any more
 * @param asked - by a person who knows of a later one
 * @throws RollcallError USAGE
 */
export function nextEpoch(known: readonly (number | undefined)[], asked: number | undefined): number {
  const least = Math.max(...known.map((epoch) => epoch ?? 0)) + 1;
  if (asked === undefined && known.includes(undefined)) {
    const message = `the epoch of the hub that was there cannot be read: give one that it never had, --epoch ${least} where it was not restored since this backup`;
    throw new RollcallError('USAGE', message);
  }
  if (asked === undefined) return least;
  if (Number.isInteger(asked) && asked >= least) return asked;
  throw new RollcallError('USAGE', `--epoch must be a whole number of at least ${least}`);
}
