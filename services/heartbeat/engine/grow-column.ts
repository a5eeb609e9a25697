/** How a column of a table grows: the old values into a longer array, which is returned. */
export function copiedInto<Column extends { set(from: Column): void }>(
  source: Column,
  grown: Column,
): Column {
  grown.set(source);
  return grown;
}
