import { expect, test } from 'vitest';
import { createTablePrinter, renderTable, type ServerTable } from './table.ts';

const table: ServerTable = {
  columnDefinitions: [{ name: 'Name' }, { name: 'Ready' }, { name: 'Nodes', priority: 1 }],
  rows: [
    { cells: ['edge-1', 'True', 3], object: { metadata: { name: 'edge-1', namespace: 'a' } } },
    { cells: ['a-longer-name', null, 12], object: { metadata: { name: 'a-longer-name', namespace: 'b' } } },
  ],
};

test('columns are aligned, the wide ones left out, and what is missing says so', () => {
  expect(renderTable(table, { wide: false, withNamespace: false })).toBe(
    ['NAME            READY', 'edge-1          True', 'a-longer-name   <none>'].join('\n'),
  );
});

test('wide shows everything', () => {
  expect(renderTable(table, { wide: true, withNamespace: false }).split('\n')[0]).toBe(
    'NAME            READY    NODES',
  );
});

test('namespaces come first where objects are of several', () => {
  expect(renderTable(table, { wide: false, withNamespace: true }).split('\n')[2]).toBe(
    'b           a-longer-name   <none>',
  );
});

test('a cell cannot move the cursor', () => {
  const row = { cells: ['\u001b[2Jx', 'True', 1], object: { metadata: { name: 'x' } } };
  expect(renderTable({ ...table, rows: [row] }, { wide: false, withNamespace: false })).toContain('[2Jx');
});

test('a table without rows prints nothing, and its columns are those of the rows that come later', () => {
  const printer = createTablePrinter({ wide: false, withNamespace: false });
  expect(printer.render({ ...table, rows: [] })).toBe('');
  expect(printer.render({ ...table, columnDefinitions: [] })).toMatch(/^NAME +READY\nedge-1 +True\n/);
});
