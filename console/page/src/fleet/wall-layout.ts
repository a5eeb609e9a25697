/** Where the cells of one group are: columns from the left, each filled from the top. */
export interface GroupPlace {
  readonly x: number;
  readonly y: number;
  readonly rows: number;
  readonly count: number;
}

export interface WallLayout {
  /** Side of a cell with the space around it, in pixels. */
  readonly cell: number;
  readonly height: number;
  readonly groups: readonly GroupPlace[];
}

const mostCell = 26;
const leastCell = 1;
const gap = 14;
/** Room for the name above each group. */
export const labelHeight = 20;
/** A name needs that much, however few cells it has. */
const leastGroupWidth = 62;

/** Bands below each other, in which groups stand side by side; a group that is wider than a band has more rows. */
function layOut(counts: readonly number[], width: number, cell: number): WallLayout {
  const perLine = Math.max(1, Math.floor(width / cell));
  const total = counts.reduce((sum, count) => sum + count, 0);
  // As many rows as make one band of all of them, where that fits.
  const rows = Math.max(
    1,
    Math.min(18, Math.ceil(total / Math.max(1, perLine - (counts.length * gap) / cell))),
  );
  const groups: GroupPlace[] = [];
  let [x, y, bandHeight] = [0, 0, 0];
  for (const count of counts) {
    const ownRows = Math.max(rows, Math.ceil(count / perLine));
    const columns = Math.ceil(count / ownRows);
    const own = Math.max(columns * cell, Math.min(leastGroupWidth, width));
    if (x > 0 && x + own > width) {
      y += bandHeight + gap;
      [x, bandHeight] = [0, 0];
    }
    groups.push({ x, y, rows: ownRows, count });
    x += own + gap;
    bandHeight = Math.max(bandHeight, labelHeight + Math.min(ownRows, count) * cell);
  }
  return { cell, height: y + bandHeight, groups };
}

/** The largest cells with which everything fits. */
export function layOutWall(counts: readonly number[], width: number, mostHeight: number): WallLayout {
  for (let cell = mostCell; cell > leastCell; cell -= cell > 6 ? 1 : 0.5) {
    const layout = layOut(counts, width, cell);
    if (layout.height <= mostHeight) return layout;
  }
  return layOut(counts, width, leastCell);
}

/** Which cell is at a point. */
export function cellAt(
  { cell, groups }: WallLayout,
  x: number,
  y: number,
): { readonly group: number; readonly index: number } | undefined {
  for (const [group, place] of groups.entries()) {
    const [column, row] = [Math.floor((x - place.x) / cell), Math.floor((y - place.y - labelHeight) / cell)];
    const index = column * place.rows + row;
    if (column >= 0 && row >= 0 && row < place.rows && index < place.count) return { group, index };
  }
  return undefined;
}
