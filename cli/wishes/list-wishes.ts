import { openHub } from '../hub-access.ts';
import { RollcallError } from '@rollcall/shared/errors';
import type { GetFlags } from '../get/get.ts';
import { type EntryView, printEntries } from '../get/print-entries.ts';
import { say } from '../output.ts';
import { withProgress } from '../progress.ts';
import { shownWishes } from './shown-wishes.ts';

interface WishEntry {
  /** What `rollcall confirm` takes; none once it is confirmed. */
  readonly id: string;
  readonly state: 'held' | 'confirmed';
  readonly cluster: string;
  readonly clusterId: string;
  readonly wish: string;
  readonly by: string;
}

const view: EntryView<WishEntry> = {
  columns: [
    { name: 'Id' },
    { name: 'Cluster' },
    { name: 'Wish' },
    { name: 'By' },
    { name: 'State' },
    { name: 'Cluster ID', priority: 1 },
  ],
  cells: ({ id, cluster, wish, by, state, clusterId }) => [id, cluster, wish, by, state, clusterId],
  nameOf: ({ id }) => id,
};

/**
 * `rollcall get wishes`: what of a mass of wishes waits for `rollcall confirm`, and what was confirmed and is not acted on yet.
 * @throws RollcallError USAGE, HUB_MISSING; KubeApiError
 */
export async function listWishes(names: readonly string[], flags: GetFlags): Promise<void> {
  if (names.length > 0 || flags.watch)
    throw new RollcallError('USAGE', '`rollcall get wishes` takes no name and no --watch');
  const client = openHub(flags);
  try {
    const { held, confirmed } = await withProgress('reading', shownWishes(client));
    const entries: WishEntry[] = [
      ...(held?.wishes ?? []).map((wish) => ({ ...wish, id: held?.id ?? '', state: 'held' as const })),
      ...(confirmed?.wishes ?? []).map((wish) => ({ ...wish, id: '', state: 'confirmed' as const })),
    ].map(({ id, state, cluster, clusterId, wish, by }) => ({ id, state, cluster, clusterId, wish, by }));
    printEntries(
      flags.output === 'name' ? entries.filter(({ id }) => id !== '') : entries,
      flags.output,
      view,
    );
    if (entries.length === 0) say('No wishes are held.');
  } finally {
    client.close();
  }
}
