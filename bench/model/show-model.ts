import { assumptions } from './numbers/assumptions.ts';
import { costs, machines } from './numbers/costs.ts';
import type { BreakingPoint } from './find-limits.ts';
import type { ModelResult } from './run-model.ts';
import type { MachineLoad, ScenarioResult } from './run-scenario.ts';
import { type Figure, scenarios } from './scenarios.ts';
import { daysUntilFull } from './sizes.ts';
import type { Comparison } from './validate.ts';

const whole = (value: number) => Math.round(value).toLocaleString('en');
const percent = (share: number) => `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(bytes < 1e10 ? 1 : 0)} GB`;

/** In the unit that a reader would take. */
export function time(ms: number): string {
  if (!Number.isFinite(ms)) return 'never';
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${ms.toFixed(0)} ms`;
  if (ms < 120_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  return `${(ms / 60_000).toFixed(1)} min`;
}

const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  return [line(heads), line(heads.map(() => '---')), ...rows.map(line)].join('\n');
}

const figureText = ({ value, unit }: Figure) => (unit === 'ms' ? time(value) : `${whole(value)} ${unit}`);

/** What a scenario never asked is left out. */
const isConcerned = ({ busyShare, peakShare }: MachineLoad) => Math.max(busyShare, peakShare) >= 0.005;

function showScenario({ scenario, figures, machines: loads, grain }: ScenarioResult): string {
  const followed = grain > 1 ? ` ${grain} agents are followed as one.` : '';
  const rows = loads
    .filter(isConcerned)
    .map(({ name, busyShare, peakShare, waitMs, gaveUp }) => [
      name,
      percent(busyShare),
      percent(peakShare),
      time(waitMs.p50),
      time(waitMs.p99),
      whole(gaveUp * grain),
    ]);
  return [
    `## ${scenario}: ${scenarios[scenario].what}.${followed}`,
    table(
      ['', ''],
      figures.map((figure) => [figure.what, figureText(figure)]),
    ),
    table(['machine', 'busy', 'asked in the worst 10 s', 'wait p50', 'wait p99', 'given up'], rows),
  ].join('\n\n');
}

function showSizes({ sizes, numbers }: ModelResult): string {
  const { natsServers } = numbers;
  return table(
    ['memory and disk', ''],
    [
      ['connections of a NATS server', whole(sizes.connectionsPerServer)],
      ['memory of a NATS server that keeps streams', gigabytes(sizes.streamServerBytes)],
      ...(natsServers > 3 ? [['… of another', gigabytes(sizes.otherServerBytes)]] : []),
      ['streams on each server that keeps them', gigabytes(sizes.streamBytes)],
      ['… more a year', gigabytes(sizes.streamYearBytes)],
      ['… full without an archive after', `${whole(daysUntilFull(sizes, numbers))} days`],
      ['a heartbeat service', gigabytes(sizes.heartbeatBytes)],
      ['… just after its start, garbage with it', gigabytes(sizes.heartbeatStartBytes)],
      ['a projector', gigabytes(sizes.projectorBytes)],
      ['etcd', gigabytes(sizes.etcdBytes)],
      ['API server, for what it caches', gigabytes(sizes.apiBytes)],
      ['keys on the revocation list', whole(sizes.revocations)],
    ],
  );
}

function showBreaks(breaks: readonly BreakingPoint[]): string {
  return table(
    ['', 'clusters', 'what is too small then', 'when'],
    breaks.map(({ clusters, place, scenario }, index) => [
      `${index + 1}`,
      whole(Number(clusters.toPrecision(2))),
      place,
      scenario ?? 'always',
    ]),
  );
}

function showNumbers({ numbers, changed }: ModelResult): string {
  const own = (name: string) => (Object.hasOwn(changed, name) ? ' (changed)' : '');
  const hub = Object.keys(numbers).filter((name) => !(name in costs) && !(name in assumptions));
  const value = (name: string) => `${numbers[name as keyof typeof numbers]}${own(name)}`;
  return [
    table(
      ['hub', ''],
      hub.map((name) => [name, value(name)]),
    ),
    table(
      ['assumption', '', 'of what', 'why'],
      Object.entries(assumptions).map(([name, { unit, why }]) => [name, value(name), unit, why]),
    ),
    table(
      ['cost', '', 'of what', 'measured', 'on'],
      Object.entries(costs).map(([name, { unit, from, machine }]) => [
        name,
        value(name),
        unit,
        from,
        machines[machine],
      ]),
    ),
  ].join('\n\n');
}

export function showModel(result: ModelResult): string {
  const { hub, clusters, seed, breaks, shape } = result;
  return `${[
    `# ${whole(clusters)} clusters on the hub "${hub}", seed ${seed}`,
    showSizes(result),
    ...result.scenarios.map(showScenario),
    ...(breaks ? ['## Where a growing fleet breaks first', showBreaks(breaks)] : []),
    '## What the model reckons with',
    showNumbers(result),
    shape.map((sentence) => `- ${sentence}`).join('\n'),
  ].join('\n\n')}\n`;
}

/** Beyond this the two differ so much that it must be said why. */
const muchDifferent = 1.5;

export function showComparison(comparisons: readonly Comparison[]): string {
  const rows = comparisons.map(({ what, unit, measured, simulated, from, why }) => {
    const ratio = simulated / measured;
    const differs = Math.max(ratio, 1 / ratio) > muchDifferent;
    return [
      what,
      `${measured} ${unit}`.trim(),
      `${Number(simulated.toPrecision(3))} ${unit}`.trim(),
      `× ${ratio.toFixed(2)}`,
      differs ? (why ?? 'NOT EXPLAINED') : '',
      from,
    ];
  });
  return `${table(['', 'measured', 'simulated', 'ratio', 'why', 'from'], rows)}\n`;
}
