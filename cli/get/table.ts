import { printable } from '../terminal/printable.ts';

export interface TableRow {
  readonly cells: readonly unknown[];
  readonly object: {
    readonly metadata: {
      readonly name: string;
      readonly namespace?: string;
      readonly resourceVersion?: string;
    };
  };
}

/** A table as API servers make it: with the columns of the CRD that is installed, and ages in words. */
export interface ServerTable {
  readonly columnDefinitions: readonly { readonly name: string; readonly priority?: number }[];
  readonly rows: readonly TableRow[];
}

export interface TableOptions {
  /** With the columns that are only shown when asked for. */
  readonly wide: boolean;
  /** Of tokens, which may be in several. */
  readonly withNamespace: boolean;
}

const gap = 3;

function cellText(cell: unknown): string {
  if (cell === null || cell === undefined || cell === '') return '<none>';
  return printable(typeof cell === 'string' ? cell : JSON.stringify(cell));
}

/**
 * Lays tables out as kubectl does, one after the other: columns keep their place from the first on, and only grow. What a
 * watch brings later stays below its title.
 */
export function createTablePrinter(options: TableOptions): {
  /** Titles come with the first rows; a table without any only says which columns there are. @returns lines without the last line break */
  render(table: ServerTable): string;
} {
  let columns: ServerTable['columnDefinitions'] = [];
  let hasTitles = false;
  const widths: number[] = [];

  function lineOf(row: readonly string[]): string {
    return row
      .map((text, column) => text.padEnd((widths[column] ?? 0) + gap))
      .join('')
      .trimEnd();
  }

  return {
    render(table) {
      if (table.columnDefinitions.length > 0) columns = table.columnDefinitions;
      if (table.rows.length === 0) return '';
      const shown = columns.flatMap(({ priority = 0 }, index) =>
        priority === 0 || options.wide ? [index] : [],
      );
      const titles = [
        ...(options.withNamespace ? ['NAMESPACE'] : []),
        ...shown.map((index) => columns[index]?.name.toUpperCase() ?? ''),
      ];
      const rows = table.rows.map(({ cells, object }) => [
        ...(options.withNamespace ? [cellText(object.metadata.namespace)] : []),
        ...shown.map((index) => cellText(cells[index])),
      ]);
      const lines = hasTitles ? rows : [titles, ...rows];
      hasTitles = true;
      for (const line of lines) {
        for (const [column, text] of line.entries()) {
          widths[column] = Math.max(widths[column] ?? 0, text.length);
        }
      }
      return lines.map(lineOf).join('\n');
    },
  };
}

/** One table that is all there is. */
export function renderTable(table: ServerTable, options: TableOptions): string {
  return createTablePrinter(options).render(table);
}
