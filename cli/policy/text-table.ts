import { printable } from '../terminal/printable.ts';

const gap = 3;

/** Columns as wide as they need to be, but for the last one. */
export function textTable(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [titles, ...rows.map((row) => row.map((cell) => printable(cell)))];
  const widths = titles.map((_, column) =>
    all.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), 0),
  );
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd((widths[column] ?? 0) + gap))
        .join('')
        .trimEnd(),
    )
    .join('\n');
}
