import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import { type DocumentFormat, documentText } from '../terminal/document-text.ts';
import type { BusFlags } from '../events/bus-access.ts';
import { type OpenBus, openBus } from '../events/open-bus.ts';
import { printResult } from '../terminal/output.ts';
import { printable } from '../terminal/printable.ts';
import { withProgress } from '../terminal/progress.ts';
import { untilStopSignal } from '../stop-signal.ts';
import { hasColour } from '../terminal/terminal.ts';
import { fleetFigures } from './fleet-figures.ts';
import { createSampler, type FleetSample } from './fleet-sample.ts';
import { frame } from './frame.ts';

export interface TopFlags extends BusFlags {
  readonly once?: boolean;
  /** Of one frame. */
  readonly output: 'text' | DocumentFormat;
}

const everyMs = 1000;

const escape = '\u001b[';
/** The other screen, no cursor, and lines that are too long are cut instead of wrapped. */
const openScreen = `${escape}?1049h${escape}?25l${escape}?7l`;
const closeScreen = `${escape}?7h${escape}?25h${escape}?1049l`;
const toTop = `${escape}H`;
const clearLine = `${escape}K`;
const clearBelow = `${escape}J`;

function restore(): void {
  process.stdout.write(closeScreen);
}

/** Fills the screen without a flicker: each line is written over. */
function draw(lines: readonly string[]): void {
  const rows = process.stdout.rows || lines.length + 1;
  const shown = lines.slice(0, rows - 1).map((text) => text + clearLine);
  process.stdout.write(`${toTop}${shown.join('\n')}\n${clearBelow}`);
}

/** Until `q`, Ctrl-C or a signal. In raw mode Ctrl-C is a key. */
function untilQuit(signal: AbortController): void {
  void untilStopSignal().then(() => signal.abort());
  if (!process.stdin.isTTY) return;
  process.stdin.setRawMode(true);
  process.stdin.on('data', (key: Buffer) => {
    if (key.includes('q') || key.includes(3)) signal.abort();
  });
}

async function printOnce(bus: OpenBus, output: TopFlags['output']): Promise<void> {
  const sampler = createSampler(bus.nc, bus.log);
  const before = await sampler.next();
  await delay(everyMs);
  const figures = fleetFigures(await sampler.next(), before, bus.nc.getServer());
  if (output === 'text') printResult(frame(figures, { isColoured: hasColour() }).join('\n'));
  else printResult(documentText(figures, output));
}

async function live(bus: OpenBus): Promise<void> {
  const ending = new AbortController();
  untilQuit(ending);
  const sampler = createSampler(bus.nc, bus.log);
  const options = { isColoured: hasColour() };
  let before: FleetSample | undefined;
  let lines: string[] = [];
  process.stdout.write(openScreen);
  // Whatever ends us, the terminal is given back.
  process.on('exit', restore);
  try {
    while (!ending.signal.aborted) {
      const startedMs = performance.now();
      try {
        const sample = await sampler.next();
        lines = frame(fleetFigures(sample, before, bus.nc.getServer()), options);
        before = sample;
        draw([...lines, '', 'q ends']);
      } catch (thrown) {
        // The connection comes back by itself; until then the last frame stays.
        draw([
          ...lines,
          '',
          `the bus does not answer: ${printable(toRollcallError(thrown).message)}`,
          'q ends',
        ]);
      }
      const restMs = Math.max(0, everyMs - (performance.now() - startedMs));
      await delay(restMs, undefined, { signal: ending.signal }).catch(() => undefined);
    }
  } finally {
    process.off('exit', restore);
    restore();
    if (process.stdin.isTTY) process.stdin.setRawMode(false);
    process.stdin.pause();
  }
}

/**
 * `rollcall top`: the fleet, drawn anew each second; with `--once` one frame, for scripts.
 * @throws RollcallError USAGE without a terminal; HUB_MISSING, BUS_UNREACHABLE; KubeApiError
 */
export async function top(flags: TopFlags): Promise<void> {
  if (!flags.once && !process.stdout.isTTY) {
    throw new RollcallError('USAGE', 'stdout is no terminal; `rollcall top --once` prints one frame');
  }
  if (!flags.once && flags.output !== 'text') {
    throw new RollcallError('USAGE', `-o ${flags.output} is for one frame: add --once`);
  }
  const bus = await withProgress('connecting', openBus(flags));
  try {
    if (flags.once) await withProgress('counting', printOnce(bus, flags.output));
    else await live(bus);
  } finally {
    await bus.nc.close();
  }
}
