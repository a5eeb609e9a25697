import { printable } from '../printable.ts';

/** A table as API servers make it: with the columns of the CRD that is installed, and ages in words. */
export interface ServerTable {
  readonly columnDefinitions: readonly { readonly name: string; readonly priority?: number }[];
  readonly rows: readonly {
    readonly cells: readonly unknown[];
    readonly object: { readonly metadata: { readonly name: string; readonly namespace?: string } };
  }[];
}

const gap = 3;

function cellText(cell: unknown): string {
  if (cell === null || cell === undefined || cell === '') return '<none>';
  return printable(typeof cell === 'string' ? cell : JSON.stringify(cell));
}

/**
 * Lays a table out as kubectl does.
 * @param options.wide - with the columns that are only shown when asked for
 * @param options.withNamespace - of tokens, which may be in several
 */
export function renderTable(table: ServerTable, options: { wide: boolean; withNamespace: boolean }): string {
  const shown = table.columnDefinitions.flatMap(({ priority = 0 }, index) =>
    priority === 0 || options.wide ? [index] : [],
  );
  const titles = shown.map((index) => table.columnDefinitions[index]?.name.toUpperCase() ?? '');
  const lines = table.rows.map(({ cells, object }) => [
    ...(options.withNamespace ? [cellText(object.metadata.namespace)] : []),
    ...shown.map((index) => cellText(cells[index])),
  ]);
  const all = [[...(options.withNamespace ? ['NAMESPACE'] : []), ...titles], ...lines];
  const widths = (all[0] ?? []).map((_, column) => Math.max(...all.map((line) => line[column]?.length ?? 0)));
  return all
    .map((line) =>
      line
        .map((text, column) => text.padEnd((widths[column] ?? 0) + gap))
        .join('')
        .trimEnd(),
    )
    .join('\n');
}
