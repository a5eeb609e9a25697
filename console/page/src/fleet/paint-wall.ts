import type { ClusterState } from '../../../rows.ts';
import { numberText } from '../parts/state-words.ts';
import type { Group } from './group-clusters.ts';
import { labelHeight, type WallLayout } from './wall-layout.ts';

export interface Palette {
  /** A custom property of the page, such as `--ready`. */
  colour(name: string): string;
  readonly font: string;
}

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

/** Of a hundred thousand cells each is a few pixels, written by hand: a call of the canvas for each would take a second. */
function paintPoints(
  context: CanvasRenderingContext2D,
  { groups, layout, ratio }: { groups: readonly Group[]; layout: WallLayout; ratio: number },
  pixelOf: (state: ClusterState) => number,
): void {
  const { width, height } = context.canvas;
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const cell = layout.cell * ratio;
  const space = cell >= 4 ? 1 : 0;
  const put = (left: number, top: number, pixel: number, more: number): void => {
    const [x0, y0] = [Math.max(0, Math.round(left) - more), Math.max(0, Math.round(top) - more)];
    const x1 = Math.min(width, Math.max(Math.round(left) + 1, Math.round(left + cell) - space) + more);
    const y1 = Math.min(height, Math.max(Math.round(top) + 1, Math.round(top + cell) - space) + more);
    for (let y = y0; y < y1; y++) pixels.fill(pixel, y * width + x0, y * width + x1);
  };
  // What is not well comes last and is a little larger: on a wall of thousands a single one is still seen.
  for (const isLate of [false, true])
    for (const [index, place] of layout.groups.entries())
      for (const [number, { state }] of (groups[index]?.rows ?? []).entries()) {
        if ((state !== 'ready') !== isLate) continue;
        const left = place.x * ratio + Math.floor(number / place.rows) * cell;
        const top = (place.y + labelHeight) * ratio + (number % place.rows) * cell;
        put(left, top, pixelOf(state), isLate ? 1 : 0);
      }
  context.putImageData(image, 0, 0);
}

function paintShapes(
  context: CanvasRenderingContext2D,
  { groups, layout }: { groups: readonly Group[]; layout: WallLayout },
  palette: Palette,
): void {
  const shapes = shapesOf(context);
  const size = layout.cell - (layout.cell >= 8 ? 3 : 1.2);
  for (const [index, place] of layout.groups.entries())
    for (const [number, { state }] of (groups[index]?.rows ?? []).entries()) {
      context.fillStyle = palette.colour(`--${state}`);
      context.strokeStyle = context.fillStyle;
      const x = place.x + Math.floor(number / place.rows) * layout.cell;
      shapes[state](x, place.y + labelHeight + (number % place.rows) * layout.cell, size);
    }
}

function paintNames(
  context: CanvasRenderingContext2D,
  { groups, layout, width }: { groups: readonly Group[]; layout: WallLayout; width: number },
  palette: Palette,
): void {
  context.font = palette.font;
  context.fillStyle = palette.colour('--soft');
  for (const [index, place] of layout.groups.entries()) {
    const next = layout.groups[index + 1];
    const right = next?.y === place.y ? next.x - 6 : width;
    context.save();
    context.beginPath();
    context.rect(place.x, place.y, right - place.x, labelHeight);
    context.clip();
    context.fillText(`${groups[index]?.name ?? ''}  ${numberText(place.count)}`, place.x, place.y + 12);
    context.restore();
  }
}

/** As the pixels of an image have it: red first, opaque. */
function pixelOfColour(context: CanvasRenderingContext2D, colour: string): number {
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  return new Uint32Array(context.getImageData(0, 0, 1, 1).data.buffer)[0] ?? 0;
}

/** Draws the wall anew. */
export function paintWall(
  canvas: HTMLCanvasElement,
  wall: { groups: readonly Group[]; layout: WallLayout; width: number },
  palette: Palette,
): void {
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (!context || wall.width === 0) return;
  const ratio = devicePixelRatio;
  canvas.width = Math.round(wall.width * ratio);
  canvas.height = Math.round(wall.layout.height * ratio);
  if (wall.layout.cell < leastShape) {
    const pixels = new Map<ClusterState, number>();
    const pixelOf = (state: ClusterState): number => {
      const pixel = pixels.get(state) ?? pixelOfColour(context, palette.colour(`--${state}`));
      pixels.set(state, pixel);
      return pixel;
    };
    for (const state of ['ready', 'unknown', 'notReady', 'expected', 'out'] as const) pixelOf(state);
    paintPoints(context, { ...wall, ratio }, pixelOf);
  }
  context.scale(ratio, ratio);
  if (wall.layout.cell >= leastShape) paintShapes(context, wall, palette);
  paintNames(context, wall, palette);
}
