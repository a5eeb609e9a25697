import { type RollcallError, toRollcallError } from '@rollcall/shared/errors';

/** Of these the next try would end the same way, whoever is alone in it. */
const failsForAll: ReadonlySet<string> = new Set(['BUS_UNREACHABLE', 'APPEND_CONFLICT']);

/**
 * Writes many together, and where that fails each by itself: what is wrong with one of them (a record of a newer version) is no
 * reason not to write the others. Never rejects, as long as neither does `failed`.
 * @param failed - is told who was not written, and why
 */
export async function batchOrEach<One>(
  batch: readonly One[],
  write: (some: readonly One[]) => Promise<void>,
  failed: (some: readonly One[], error: RollcallError) => void,
): Promise<void> {
  try {
    await write(batch);
  } catch (thrown) {
    const error = toRollcallError(thrown);
    if (batch.length === 1 || failsForAll.has(error.code)) return failed(batch, error);
    for (const one of batch) await batchOrEach([one], write, failed);
  }
}
