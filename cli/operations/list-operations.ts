import { openHub } from '../hub-access.ts';
import { RollcallError } from '@rollcall/shared/errors';
import type { GetFlags } from '../get/get.ts';
import { type EntryView, printEntries } from '../get/print-entries.ts';
import { say } from '../terminal/output.ts';
import { withProgress } from '../terminal/progress.ts';
import { shownOperations } from './shown-operations.ts';

interface OperationEntry {
  /** What `rollcall confirm` takes; none once it is confirmed. */
  readonly id: string;
  readonly state: 'held' | 'confirmed';
  readonly cluster: string;
  readonly clusterId: string;
  readonly operation: string;
  readonly by: string;
}

const view: EntryView<OperationEntry> = {
  columns: [
    { name: 'Id' },
    { name: 'Cluster' },
    { name: 'Operation' },
    { name: 'By' },
    { name: 'State' },
    { name: 'Cluster ID', priority: 1 },
  ],
  cells: ({ id, cluster, operation, by, state, clusterId }) => [id, cluster, operation, by, state, clusterId],
  nameOf: ({ id }) => id,
};

/**
 * `rollcall get operations`: what of a bulk change waits for `rollcall confirm`, and what was confirmed and is not acted on yet.
 * @throws RollcallError USAGE, HUB_MISSING; KubeApiError
 */
export async function listOperations(names: readonly string[], flags: GetFlags): Promise<void> {
  if (names.length > 0 || flags.watch)
    throw new RollcallError('USAGE', '`rollcall get operations` takes no name and no --watch');
  const client = openHub(flags);
  try {
    const { held, confirmed } = await withProgress('reading', shownOperations(client));
    const entries: OperationEntry[] = [
      ...(held?.operations ?? []).map((operation) => ({
        ...operation,
        id: held?.id ?? '',
        state: 'held' as const,
      })),
      ...(confirmed?.operations ?? []).map((operation) => ({
        ...operation,
        id: '',
        state: 'confirmed' as const,
      })),
    ].map(({ id, state, cluster, clusterId, operation, by }) => ({
      id,
      state,
      cluster,
      clusterId,
      operation,
      by,
    }));
    printEntries(
      flags.output === 'name' ? entries.filter(({ id }) => id !== '') : entries,
      flags.output,
      view,
    );
    if (entries.length === 0) say('No operations are held.');
  } finally {
    client.close();
  }
}
