import { eachOf, type Steps } from '@rollcall/shared/fleet/work-in-steps';
import { type ClusterRow, type ClusterState, clusterStates } from '../../../rows/index.ts';
import type { Group } from './group-clusters.ts';
import { labelHeight, type WallLayout } from './wall-layout.ts';

/** The colour of a custom property of the page, such as `--ready`. */
export type Palette = (name: string) => string;

/** Below this no shape can be told from another, and cells are points. */
const leastShape = 5;

type Draw = (x: number, y: number, size: number) => void;

/** Each state has its own shape as well as its colour. */
function shapesOf(context: CanvasRenderingContext2D): Record<ClusterState, Draw> {
  const filled = (make: Draw): Draw => {
    return (x, y, size) => {
      context.beginPath();
      make(x, y, size);
      context.fill();
    };
  };
  const ring = (isRound: boolean): Draw => {
    return (x, y, size) => {
      context.lineWidth = Math.max(1, size / 5);
      const [half, inner] = [size / 2, size / 2 - context.lineWidth / 2];
      context.beginPath();
      if (isRound) context.arc(x + half, y + half, inner, 0, 2 * Math.PI);
      else context.rect(x + half - inner, y + half - inner, 2 * inner, 2 * inner);
      context.stroke();
    };
  };
  return {
    ready: filled((x, y, size) => context.arc(x + size / 2, y + size / 2, size / 2, 0, 2 * Math.PI)),
    unknown: filled((x, y, size) => {
      const [half, reach] = [size / 2, size * 0.6];
      context.moveTo(x + half, y + half - reach);
      context.lineTo(x + half + reach, y + half);
      context.lineTo(x + half, y + half + reach);
      context.lineTo(x + half - reach, y + half);
    }),
    notReady: (x, y, size) => context.fillRect(x, y, size, size),
    expected: ring(true),
    out: ring(false),
  };
}

interface PaintedWall {
  readonly groups: readonly Group[];
  readonly layout: WallLayout;
  readonly width: number;
  /** Pixels of the screen in one of the page. */
  readonly ratio: number;
}

type Cell = (row: ClusterRow, x: number, y: number) => void;

/** Every cell, with its place in pixels of the page. */
function* eachCell({ groups, layout }: PaintedWall, paint: Cell): Steps<void> {
  for (const [index, place] of layout.groups.entries()) {
    let number = 0;
    yield* eachOf(groups[index]?.rows ?? [], (row) => {
      const x = place.x + Math.floor(number / place.rows) * layout.cell;
      paint(row, x, place.y + labelHeight + (number % place.rows) * layout.cell);
      number++;
    });
  }
}

/** Of a hundred thousand cells each is a few pixels, written by hand: a call of the canvas for each would take a second. */
function* paintPoints(
  image: ImageData,
  wall: PaintedWall,
  pixelOf: Readonly<Record<ClusterState, number>>,
): Steps<void> {
  const { width, height } = image;
  const pixels = new Uint32Array(image.data.buffer);
  const { ratio } = wall;
  const cell = wall.layout.cell * ratio;
  const space = cell >= 4 ? 1 : 0;
  const put = (left: number, top: number, pixel: number, more: number): void => {
    const [x0, y0] = [Math.max(0, Math.round(left) - more), Math.max(0, Math.round(top) - more)];
    const x1 = Math.min(width, Math.max(Math.round(left) + 1, Math.round(left + cell) - space) + more);
    const y1 = Math.min(height, Math.max(Math.round(top) + 1, Math.round(top + cell) - space) + more);
    for (let y = y0; y < y1; y++) for (let x = x0; x < x1; x++) pixels[y * width + x] = pixel;
  };
  // What is not well comes last and is a little larger: on a wall of thousands a single one is still seen.
  for (const isLate of [false, true])
    yield* eachCell(wall, ({ state }, x, y) => {
      if ((state !== 'ready') === isLate) put(x * ratio, y * ratio, pixelOf[state], isLate ? 1 : 0);
    });
}

function* paintShapes(context: CanvasRenderingContext2D, wall: PaintedWall, palette: Palette): Steps<void> {
  const shapes = shapesOf(context);
  const { cell } = wall.layout;
  const size = cell - (cell >= 8 ? 3 : 1.2);
  context.scale(wall.ratio, wall.ratio);
  yield* eachCell(wall, ({ state }, x, y) => {
    context.fillStyle = palette(`--${state}`);
    context.strokeStyle = context.fillStyle;
    shapes[state](x, y, size);
  });
}

/** As the pixels of an image have it: red first, opaque. */
function pixelOfColour(context: CanvasRenderingContext2D, colour: string): number {
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  return new Uint32Array(context.getImageData(0, 0, 1, 1).data.buffer)[0] ?? 0;
}

/** @returns a canvas with the wall on it, which nobody has seen yet; undefined: there is no room */
export function* paintWall(wall: PaintedWall, palette: Palette): Steps<HTMLCanvasElement | undefined> {
  const canvas = document.createElement('canvas');
  canvas.width = Math.round(wall.width * wall.ratio);
  canvas.height = Math.round(wall.layout.height * wall.ratio);
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (!context || canvas.width === 0 || canvas.height === 0) return undefined;
  if (wall.layout.cell >= leastShape) {
    yield* paintShapes(context, wall, palette);
    return canvas;
  }
  const pixelOf = Object.fromEntries(
    clusterStates.map((state) => [state, pixelOfColour(context, palette(`--${state}`))]),
  ) as Record<ClusterState, number>;
  const image = context.createImageData(canvas.width, canvas.height);
  yield* paintPoints(image, wall, pixelOf);
  context.putImageData(image, 0, 0);
  return canvas;
}

/** Shows at once what was painted. */
export function showPainted(canvas: HTMLCanvasElement, painted: HTMLCanvasElement): void {
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (canvas.width !== painted.width || canvas.height !== painted.height)
    [canvas.width, canvas.height] = [painted.width, painted.height];
  else context?.clearRect(0, 0, canvas.width, canvas.height);
  context?.drawImage(painted, 0, 0);
}
