/** Does all of it, no more than so many at a time. */
export async function inFlight(
  count: number,
  { atOnce, work }: { atOnce: number; work: (index: number) => Promise<void> },
): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, worker));
}
