/** Work on many rows in short steps: between two of them others have their turn. */
export type Steps<Value> = Generator<undefined, Value>;

/** Done within about a millisecond. */
const rowsInStep = 2000;

/** Takes all steps at once. */
export function complete<Value>(steps: Steps<Value>): Value {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

export function* eachOf<Row>(rows: readonly Row[], take: (row: Row) => void): Steps<void> {
  for (let from = 0; from < rows.length; from += rowsInStep) {
    for (const row of rows.slice(from, from + rowsInStep)) take(row);
    yield;
  }
}

/** `Map.groupBy`. */
export function* groupedBy<Row>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
): Steps<Map<string, Row[]>> {
  const groups = new Map<string, Row[]>();
  yield* eachOf(rows, (row) => {
    const key = keyOf(row);
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  });
  return groups;
}

function* merged<Row>(
  one: readonly Row[],
  other: readonly Row[],
  compare: (one: Row, other: Row) => number,
): Steps<Row[]> {
  const rows: Row[] = [];
  let [atOne, atOther] = [0, 0];
  while (atOne < one.length || atOther < other.length) {
    const [first, second] = [one[atOne], other[atOther]];
    // Of two that are the same to the order, the one that was first stays first.
    if (second === undefined || (first !== undefined && compare(first, second) <= 0)) {
      rows.push(first!);
      atOne++;
    } else {
      rows.push(second);
      atOther++;
    }
    if (rows.length % rowsInStep === 0) yield;
  }
  return rows;
}

/** `toSorted`; rows that are the same to the order stay as they were. */
export function* sortedBy<Row extends object>(
  rows: readonly Row[],
  compare: (one: Row, other: Row) => number,
): Steps<readonly Row[]> {
  let runs: (readonly Row[])[] = [];
  for (let from = 0; from < rows.length; from += rowsInStep) {
    runs.push(rows.slice(from, from + rowsInStep).toSorted(compare));
    yield;
  }
  while (runs.length > 1) {
    const longer: (readonly Row[])[] = [];
    for (let index = 0; index < runs.length; index += 2)
      longer.push(yield* merged(runs[index] ?? [], runs[index + 1] ?? [], compare));
    runs = longer;
  }
  return runs[0] ?? [];
}
