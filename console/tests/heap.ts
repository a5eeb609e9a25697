import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Person } from './browser.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** What this process still needs. */
export function serverHeap(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

/** What the page still needs. */
export async function pageHeap({ page }: Person): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize;
}
