import type { KubeClient } from '@rollcall/shared/kubernetes';
import { type Finding, skipped } from './finding.ts';
import { judgeClock, measureClock } from './judge-clock.ts';

/** The Date header has whole seconds. */
const dateRoundsToMs = 1000;

/** The clock of an API server, against the one here. @param whose - as people call the server */
export async function examineClock(client: Pick<KubeClient, 'raw'>, whose: string): Promise<Finding> {
  const measured = await measureClock(async () => {
    const atMs = Date.parse((await client.raw('/version')).date ?? '');
    return Number.isNaN(atMs) ? undefined : atMs;
  }, dateRoundsToMs);
  return measured ? judgeClock(whose, measured) : skipped(`clock ${whose}`, 'it does not say its time');
}
