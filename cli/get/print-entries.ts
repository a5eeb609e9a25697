import { documentText } from '../terminal/document-text.ts';
import { printResult } from '../terminal/output.ts';
import { printable, printableJson } from '../terminal/printable.ts';
import { renderTable, type ServerTable } from './table.ts';

const entryFormats = ['table', 'wide', 'json', 'yaml', 'name'] as const;
export type EntryFormat = (typeof entryFormats)[number];

/** How a list is shown whose entries are no Kubernetes objects. */
export interface EntryView<T> {
  readonly columns: ServerTable['columnDefinitions'];
  cells(entry: T): readonly unknown[];
  /** What other commands take. */
  nameOf(entry: T): string;
}

/** Prints entries in the formats of `rollcall get`; JSON is one entry a line, a name that comes again is printed once. */
export function printEntries<T>(entries: readonly T[], format: EntryFormat, view: EntryView<T>): void {
  if (entries.length === 0) return;
  if (format === 'json') {
    for (const entry of entries) printResult(printableJson(entry));
  } else if (format === 'yaml') {
    printResult(documentText(entries, 'yaml'));
  } else if (format === 'name') {
    for (const name of new Set(entries.map((entry) => view.nameOf(entry)))) printResult(printable(name));
  } else {
    const rows = entries.map((entry) => ({
      cells: view.cells(entry),
      object: { metadata: { name: view.nameOf(entry) } },
    }));
    const table = { columnDefinitions: view.columns, rows };
    printResult(renderTable(table, { wide: format === 'wide', withNamespace: false }));
  }
}
