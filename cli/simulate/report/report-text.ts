import { printable } from '../../terminal/printable.ts';
import type { Spread } from './quantile.ts';
import type { SimulationReport } from './report.ts';

const width = 14;
const number = (value: number, digits = 0) =>
  value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
const line = (name: string, value: string) => `${name.padEnd(width)}${value}`.trimEnd();
const spread = ({ p50, p99 }: Spread) => `p50 ${number(p50)} ms, p99 ${number(p99)} ms`;

function detectionLines({ detection }: SimulationReport): string[] {
  return Object.entries(detection).map(([state, { clusters, ms }]) =>
    line(
      state,
      `${number(clusters)} clusters, after ${number(ms.p50 / 1000, 1)} s (p50), ${number(ms.p99 / 1000, 1)} s (p99)`,
    ),
  );
}

function joinLines({ joins, joinsWhileLeaving, leavings }: SimulationReport): string[] {
  const text = ({ count, perSecond, ms }: NonNullable<SimulationReport['joins']>) =>
    `${number(count)} agents, ${number(perSecond, 1)} a second, asked to ready: ${spread(ms)}`;
  const factor =
    joins && joinsWhileLeaving
      ? `, ${number(joinsWhileLeaving.ms.p99 / joins.ms.p99, 1)} times the p99 of before`
      : '';
  return [
    ...(joins ? [line('joins', text(joins))] : []),
    ...(leavings
      ? [
          line(
            'leavings',
            `${number(leavings.begun)} clusters, of which ${number(leavings.ended)} have left by the end`,
          ),
        ]
      : []),
    ...(joinsWhileLeaving ? [line('… joins then', `${text(joinsWhileLeaving)}${factor}`)] : []),
  ];
}

function outageLines({ outages }: SimulationReport): string[] {
  if (outages.length === 0) return [line('outages', 'none')];
  return outages.map(({ afterSeconds, heldSeconds, message }) => {
    const held = heldSeconds === undefined ? 'not over yet' : `held for ${number(heldSeconds, 1)} s`;
    return line('outage', `after ${number(afterSeconds, 1)} s, ${held}: ${printable(message)}`);
  });
}

function stalledLines({ stalled }: SimulationReport): string[] {
  if (!stalled) return [];
  const { clusters, longestMs, toldSilent } = stalled;
  const text = `${number(clusters)} clusters sent no heartbeat for up to ${number(longestMs / 1000, 1)} s, because this machine was too busy; ${number(toldSilent)} of them were told silent, rightly`;
  return [line('stalled', text)];
}

/** What the run shows, in one sentence for somebody who has not seen it before. */
function meaning({ silenced, wronged, outages, transitions }: SimulationReport): string {
  const dead = transitions['unreachable'] ?? 0;
  if (wronged > 0) return `${number(wronged)} clusters were told silent although they sent heartbeats.`;
  if (silenced === 0) return 'Nobody was silent, and nobody was told to be.';
  const held = outages.length > 0 && dead === 0;
  if (held)
    return `${number(silenced)} clusters fell silent and none of them was declared unreachable: the outage guard held it, because so many together are most likely the network of the hub.`;
  return `${number(silenced)} clusters fell silent, ${number(dead)} times one was declared unreachable, and never one that sent heartbeats.`;
}

export function reportText(report: SimulationReport): string {
  const { madeUp, heartbeats, transitions, processes, troubles, apiWrites } = report;
  const counts = Object.entries(transitions).map(([type, count]) => `${type} ${number(count)}`);
  const trouble = Object.entries(troubles).map(([what, count]) => `${what} ${number(count)} times`);
  return [
    `${report.scenario}: ${number(report.clusters)} clusters, seed ${report.seed}, ${number(report.seconds)} s`,
    '',
    line(
      'made up',
      `${number(madeUp.clusters)} clusters known to the hub within ${number(madeUp.seconds, 1)} s`,
    ),
    ...joinLines(report),
    ...(trouble.length > 0 ? [line('troubles', trouble.map((text) => printable(text)).join(', '))] : []),
    line('heartbeats', `${number(heartbeats.sent)} sent, ${number(heartbeats.perSecond)} a second`),
    line('silenced', `${number(report.silenced)} clusters`),
    ...outageLines(report),
    ...detectionLines(report),
    line('events', counts.join(', ')),
    line('wronged', `${number(report.wronged)} clusters told silent although they sent heartbeats`),
    ...stalledLines(report),
    ...(apiWrites === undefined ? [] : [line('API writes', `${number(apiWrites)}, by everybody`)]),
    ...processes.map(({ name, cpuShare, residentMiB }, index) =>
      line(
        index === 0 ? 'used' : '',
        `${name.padEnd(26)}${number(cpuShare * 100).padStart(4)} % of a core ${number(residentMiB).padStart(6)} MiB`,
      ),
    ),
    '',
    meaning(report),
  ].join('\n');
}
