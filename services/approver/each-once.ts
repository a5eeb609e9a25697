import { type RollcallError, toRollcallError } from '@rollcall/shared/errors';

/**
 * Does for each cluster what is to be done: one where it fails, because its record is of a newer version for example, keeps no other
 * waiting.
 * @throws what the first of them failed with, in the end; at once where the bus is away
 */
export async function eachOnce(
  ids: Iterable<string> | AsyncIterable<string>,
  doFor: (id: string) => Promise<void>,
): Promise<void> {
  const seen = new Set<string>();
  let failure: RollcallError | undefined;
  for await (const id of ids) {
    if (seen.has(id)) continue;
    seen.add(id);
    try {
      await doFor(id);
    } catch (thrown) {
      const error = toRollcallError(thrown);
      failure ??= error;
      if (error.code === 'BUS_UNREACHABLE') break;
    }
  }
  if (failure) throw failure;
}
