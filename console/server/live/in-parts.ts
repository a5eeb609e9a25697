/** Rows in one part, so that a page never parses for longer than a frame. */
const rowsInPart = 1000;

export function* inParts<Row>(rows: Iterable<Row>): Generator<Row[]> {
  let part: Row[] = [];
  for (const row of rows) {
    part.push(row);
    if (part.length < rowsInPart) continue;
    yield part;
    part = [];
  }
  if (part.length > 0) yield part;
}
