import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cellAt, labelHeight, layOutWall } from './wall-layout.ts';

const fleets = fc.record({
  counts: fc.array(fc.integer({ min: 1, max: 8000 }), { minLength: 1, maxLength: 16 }),
  width: fc.integer({ min: 280, max: 2000 }),
});

test('no two cells are at one place, and none is outside', () => {
  fc.assert(
    fc.property(fleets, fc.nat(), ({ counts, width }, seed) => {
      const layout = layOutWall(counts, width, 300);
      for (const [group, { x, y, rows, count }] of layout.groups.entries()) {
        const index = seed % count;
        const left = x + Math.floor(index / rows) * layout.cell;
        const top = y + labelHeight + (index % rows) * layout.cell;
        expect(left + layout.cell).toBeLessThanOrEqual(width + layout.cell);
        expect(top + layout.cell).toBeLessThanOrEqual(layout.height + 0.001);
        expect(cellAt(layout, left + layout.cell / 2, top + layout.cell / 2)).toEqual({ group, index });
      }
    }),
  );
});

test('a hundred thousand clusters have a cell each on a usual screen', () => {
  const layout = layOutWall([60_000, 25_000, 15_000], 1100, 460);
  expect(layout.cell).toBeGreaterThanOrEqual(1.5);
  expect(layout.height).toBeLessThanOrEqual(460);
});
