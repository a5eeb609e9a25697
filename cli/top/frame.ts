import { styleText } from 'node:util';
import { waitingText } from '../status/status-text.ts';
import type { FleetFigures } from './fleet-figures.ts';

const unknown = '-';
const nameWidth = 20;
const barWidth = 30;

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

function stateLines({ clusters = 0, clustersByState }: FleetFigures, isColoured: boolean): string[] {
  return Object.entries(clustersByState).map(([state, count]) => {
    const bar = '█'.repeat(clusters === 0 ? 0 : Math.ceil((count / clusters) * barWidth));
    const colour = colourOf[state];
    const shown = isColoured && colour ? styleText(colour, bar, { validateStream: false }) : bar;
    return `  ${state.padEnd(nameWidth - 2)}${String(count).padStart(7)}  ${shown}`.trimEnd();
  });
}

/** As many as fit a terminal of 80 columns. */
const servicesInLine = 3;

function serviceLines(services: FleetFigures['services']): string[] {
  const texts = services.map(({ name, replicas, ready }) => `${name} ${ready}/${replicas}`);
  return texts.flatMap((_, index) =>
    index % servicesInLine === 0
      ? [line(index === 0 ? 'Services' : '', texts.slice(index, index + servicesInLine).join(', '))]
      : [],
  );
}

/** One frame of the fleet. */
export function frame(figures: FleetFigures, options: { isColoured: boolean }): string[] {
  const { clusters, waitingRequests, oldestWaitingSeconds, services } = figures;
  return [
    `rollcall top - ${figures.hub} - ${figures.at}`,
    '',
    ...(figures.outage ? ['OUTAGE: a large part of the fleet is silent together'] : []),
    line('Clusters', clusters === undefined ? unknown : String(clusters)),
    ...stateLines(figures, options.isColoured),
    '',
    line('Joins', `${figures.joinsInLastMinute} in the last minute`),
    line(
      'Waiting requests',
      waitingRequests === undefined ? unknown : waitingText(waitingRequests, oldestWaitingSeconds),
    ),
    line('Projector lag', `${number(figures.projectorLagSeconds, 3)} s`),
    line('Heartbeats', `${number(figures.heartbeatsPerSecond)} /s`),
    line('Events', `${number(figures.eventsPerSecond)} /s, ${figures.events ?? unknown} in all`),
    ...serviceLines(services),
  ];
}
