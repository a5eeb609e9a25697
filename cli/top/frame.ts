import { styleText } from 'node:util';
import { figureOf, type ServiceAnswer, serviceNames } from '../status/ask-services.ts';
import { clusterCounts } from '../status/hub-status.ts';
import { waitingText } from '../status/status-text.ts';
import type { FleetSample } from './fleet-sample.ts';

const unknown = '-';
const nameWidth = 20;
const barWidth = 30;

/** Per second between two samples; undefined for the first one, and where a counter began anew. */
export function rate(
  now: number | undefined,
  before: number | undefined,
  elapsedMs: number,
): number | undefined {
  if (now === undefined || before === undefined || elapsedMs <= 0 || now < before) return undefined;
  return ((now - before) * 1000) / elapsedMs;
}

const number = (value: number | undefined, digits = 1) =>
  value === undefined ? unknown : value.toFixed(digits);
const line = (name: string, value: string) => `${name.padEnd(nameWidth)}${value}`;

const colourOf: Readonly<Record<string, 'green' | 'yellow' | 'red' | 'dim'>> = {
  ready: 'green',
  suspect: 'yellow',
  unreachable: 'red',
  stopped: 'dim',
  'never seen': 'dim',
};

function stateLines(counts: Readonly<Record<string, number>>, isColoured: boolean): string[] {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return Object.entries(counts).map(([state, count]) => {
    const bar = '█'.repeat(total === 0 ? 0 : Math.ceil((count / total) * barWidth));
    const colour = colourOf[state];
    const shown = isColoured && colour ? styleText(colour, bar, { validateStream: false }) : bar;
    return `  ${state.padEnd(nameWidth - 2)}${String(count).padStart(7)}  ${shown}`.trimEnd();
  });
}

function serviceLine(answers: readonly ServiceAnswer[]): string {
  return serviceNames
    .map((service) => {
      const replicas = answers.filter(({ name }) => name === service);
      const ready = replicas.filter(({ figures }) => figures['ready'] === 1).length;
      return `${service} ${ready}/${replicas.length}`;
    })
    .join(', ');
}

/**
 * One picture of the fleet.
 * @param before - the sample before it, for what is counted per second
 */
export function frame(
  sample: FleetSample,
  before: FleetSample | undefined,
  options: { isColoured: boolean; hub: string },
): string[] {
  const { answers } = sample;
  const elapsedMs = before === undefined ? 0 : sample.atMs - before.atMs;
  const counts = clusterCounts(answers);
  const total = counts && Object.values(counts).reduce((sum, count) => sum + count, 0);
  const beats = rate(
    figureOf(answers, 'heartbeat', 'beats'),
    before && figureOf(before.answers, 'heartbeat', 'beats'),
    elapsedMs,
  );
  const waiting = figureOf(answers, 'projector', 'waitingRequests');
  const oldest = figureOf(answers, 'projector', 'oldestWaitingSeconds');
  const storm =
    figureOf(answers, 'heartbeat', 'storm') === 1
      ? ['STORM: a large part of the fleet is silent together']
      : [];
  return [
    `rollcall top - ${options.hub} - ${new Date(sample.atMs).toISOString().slice(0, 19)}Z`,
    '',
    ...storm,
    line('Clusters', total === undefined ? unknown : String(total)),
    ...stateLines(counts ?? {}, options.isColoured),
    '',
    line('Joins', `${sample.joinedAtMs.length} in the last minute`),
    line('Waiting requests', waiting === undefined ? unknown : waitingText(waiting, oldest)),
    line('Projector lag', `${number(figureOf(answers, 'projector', 'lagSeconds'), 3)} s`),
    line('Beats', `${number(beats)} /s`),
    line(
      'Events',
      `${number(rate(sample.lastSequence, before?.lastSequence, elapsedMs))} /s, ${sample.lastSequence ?? unknown} in all`,
    ),
    line('Services', serviceLine(answers)),
  ];
}
