import { atMost, mebibytes, ms, type Row } from '../report/table-row.ts';
import type { ConsoleResult } from './measure-console.ts';

export function consoleRows(result: ConsoleResult): Row[] {
  const { clusters, firstPaintMs, firstViewMs, frames, changesPerSecond, seconds } = result;
  const { pageHeapBytes, serverHeapBytes } = result;
  const grown = (what: string, [first, last]: readonly [number, number]): Row => ({
    what: `… heap of the ${what} after ${seconds} s of ${changesPerSecond} changes a second`,
    is: `${mebibytes(last)} (at first ${mebibytes(first)})`,
    target: atMost(last, 1.25 * first, '1.25 × at first'),
  });
  return [
    {
      what: `console, ${clusters} made-up clusters: start of the browser → all drawn`,
      is: ms(firstViewMs),
      target: atMost(firstViewMs, 3000, '3,000 ms'),
    },
    {
      what: '… the page is asked for → first paint',
      is: ms(firstPaintMs),
      target: atMost(firstPaintMs, 1000, '1,000 ms'),
    },
    {
      what: `… longest of ${frames.count} frames while scrolling and filtering`,
      is: `${ms(frames.longestMs)} (over 50 ms: ${frames.over50})`,
      target: atMost(frames.longestMs, 50, '50 ms'),
    },
    grown('page', pageHeapBytes),
    grown('server', serverHeapBytes),
  ];
}
