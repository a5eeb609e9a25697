/**
 * As Promise.all, but it fails only once nothing is on its way any more: a write that outlives its handler can arrive after
 * the contrary was decided and done, and nobody would look again.
 * @throws what the first of them was rejected with
 */
export async function allArrived<const Writes extends readonly Promise<unknown>[]>(
  writes: Writes,
): Promise<{ -readonly [At in keyof Writes]: Awaited<Writes[At]> }> {
  await Promise.allSettled(writes);
  return (await Promise.all(writes)) as { -readonly [At in keyof Writes]: Awaited<Writes[At]> };
}
