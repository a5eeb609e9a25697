import { quantile } from '../../cli/simulate/report/quantile.ts';
import { lastThirds, type Point, slopePerHour } from './slope.ts';
import type { SoakRecord, Took } from './soak-record.ts';
import type { ProcessSample } from './take-sample.ts';

/** One question about a soak, and its answer. */
export interface Judgement {
  readonly name: string;
  readonly is: string;
  readonly allowed: string;
  readonly isGood: boolean;
}

/** From here on a run is long enough for slopes. */
export const longRunMs = 30 * 60_000;
/** The issue's own measure. */
const slopeAnHour = 0.01;
/** A shorter run is one of processes that still grow into their work. */
const shortGrowth = 0.5;
/** Descriptors, subscriptions and timers go up and down with who is there at the moment. */
const flatShare = 0.05;
const flatCount = 5;
/** In a short run they only say what is under way at the moment. */
const shortFlat = { share: 1, count: 30 };
/** Times of the last part may be that much longer than those of the first, and as much again for the machine. */
const slowerBy = 1.5;
const slowerMs = 250;
const fewest = 5;
/** What happens in some seconds of a short run is no mean of what happens in an hour. */
const sizeShare = (of: Pick<SoakRecord, 'lastsMs'>) => (isShort(of) ? 0.5 : 0.2);
const rateFactor = (of: Pick<SoakRecord, 'lastsMs'>) => (isShort(of) ? 4 : slowerBy);

const percent = (share: number) => `${(share * 100).toFixed(1)} %`;
const mebibytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
const some = (all: readonly string[]) =>
  all.length === 0 ? 'none' : `${all.length}: ${all.slice(0, 3).join('; ')}`;

/** A value of one process over all samples; of those in which it could be asked. */
function series(
  { samples }: SoakRecord,
  name: string,
  valueOf: (sample: ProcessSample) => number | undefined,
): Point[] {
  return samples.flatMap(({ atMs, processes }) => {
    const sample = processes[name];
    const value = sample && valueOf(sample);
    return sample && value !== undefined ? [{ atMs, life: sample.life, value }] : [];
  });
}

/** A process that was away at most samples of a short run shows nothing in it. */
const tooFew = (name: string): Judgement => ({
  name,
  is: 'not measured often enough',
  allowed: 'not judged (short run)',
  isGood: true,
});
const isShort = ({ lastsMs }: Pick<SoakRecord, 'lastsMs'>) => lastsMs < longRunMs;
const signed = (share: number) => `${share >= 0 ? '+' : ''}${percent(share)}`;

/** Resident memory: of a long run the slope of its last two thirds, of a short one how much the last third has more than the one before. */
export function judgeMemory(record: SoakRecord, process: string): Judgement {
  const name = `memory of ${process}`;
  const all = series(record, process, ({ residentBytes }) => residentBytes);
  const last = mebibytes(all.at(-1)?.value ?? Number.NaN);
  if (!isShort(record)) {
    const slope = slopePerHour(all.filter(({ atMs }) => atMs >= record.lastsMs / 3));
    const allowed = `≤ ${percent(slopeAnHour)} an hour`;
    return { name, is: `${last}, ${signed(slope)} an hour`, allowed, isGood: slope <= slopeAnHour };
  }
  const { before, after } = lastThirds(all, record.lastsMs);
  const growth = after / before - 1;
  if (Number.isNaN(growth)) return tooFew(name);
  const allowed = `≤ ${percent(shortGrowth)} (short run)`;
  return { name, is: `${last}, ${signed(growth)}`, allowed, isGood: growth <= shortGrowth };
}

function judgeFlat(
  name: string,
  values: readonly { readonly atMs: number; readonly value: number }[],
  record: Pick<SoakRecord, 'lastsMs'>,
): Judgement {
  const { before, after } = lastThirds(values, record.lastsMs);
  if (isShort(record) && Number.isNaN(after - before)) return tooFew(name);
  const { share, count } = isShort(record) ? shortFlat : { share: flatShare, count: flatCount };
  return {
    name,
    is: `${before} → ${after}`,
    allowed: `${percent(share)} or ${count} more`,
    isGood: after - before <= Math.max(share * before, count),
  };
}

export const judgeDescriptors = (record: SoakRecord, name: string): Judgement =>
  judgeFlat(
    `descriptors of ${name}`,
    series(record, name, ({ descriptors }) => descriptors),
    record,
  );

export const judgeTimers = (record: SoakRecord, name: string): Judgement =>
  judgeFlat(
    `timers of ${name}`,
    series(record, name, ({ timers }) => timers),
    record,
  );

/** Connections too: with them subscriptions go up and down. */
export function judgeServers(record: SoakRecord): Judgement[] {
  return (['connections', 'subscriptions', 'consumers'] as const).map((what) => {
    const values = record.samples.flatMap(({ atMs, servers }) =>
      servers ? [{ atMs, value: servers[what] }] : [],
    );
    return judgeFlat(what, values, record);
  });
}

/** An event has the same size at the end, and what happens to a cluster makes as many events. */
export function judgeStream(record: SoakRecord): Judgement {
  const sizes = record.samples.flatMap(({ atMs, streams: { EVENTS } }) =>
    EVENTS ? [{ atMs, ...EVENTS }] : [],
  );
  const { lastsMs } = record;
  function between(from: number, to: number) {
    const within = sizes.filter(({ atMs }) => atMs >= from * lastsMs && atMs <= to * lastsMs);
    const [first, last] = [within[0], within.at(-1)];
    const events = (last?.messages ?? 0) - (first?.messages ?? 0);
    const bytes = (last?.bytes ?? 0) - (first?.bytes ?? 0);
    return {
      bytesEach: bytes / events,
      aMinute: (events * 60_000) / ((last?.atMs ?? 0) - (first?.atMs ?? 0)),
    };
  }
  const [before, after] = [between(1 / 3, 2 / 3), between(2 / 3, 1)];
  const show = ({ bytesEach, aMinute }: typeof before) =>
    `${aMinute.toFixed(0)} a minute of ${bytesEach.toFixed(0)} B`;
  const [size, rate] = [after.bytesEach / before.bytesEach, after.aMinute / before.aMinute];
  const name = 'events and their size';
  if (isShort(record) && Number.isNaN(size * rate)) return tooFew(name);
  return {
    name,
    is: `${show(before)} → ${show(after)}`,
    allowed: `size ± ${percent(sizeShare(record))}, rate ≤ × ${rateFactor(record)}`,
    isGood: Math.abs(size - 1) <= sizeShare(record) && rate <= rateFactor(record),
  };
}

const spreadText = (all: readonly number[]) =>
  `${quantile(all, 0.5).toFixed(0)} ms (p99 ${quantile(all, 0.99).toFixed(0)}, ${all.length})`;

/** The last sixth beside the first, or halves where the run is short. */
export function judgeTimes(
  name: string,
  times: readonly Took[],
  { lastsMs }: Pick<SoakRecord, 'lastsMs'>,
): Judgement {
  const share = lastsMs >= longRunMs ? 1 / 6 : 1 / 2;
  const tookIn = (fromMs: number, toMs: number) =>
    times.filter(({ atMs }) => atMs >= fromMs && atMs < toMs).map(({ tookMs }) => tookMs);
  const first = tookIn(0, share * lastsMs);
  const last = tookIn((1 - share) * lastsMs, lastsMs);
  const [before, after] = [quantile(first, 0.5), quantile(last, 0.5)];
  const is = `${spreadText(first)} → ${spreadText(last)}`;
  if (lastsMs < longRunMs) return { name, is, allowed: 'not judged (short run)', isGood: true };
  return {
    name,
    is,
    allowed: `median ≤ × ${slowerBy} + ${slowerMs} ms`,
    isGood: Math.min(first.length, last.length) >= fewest && after <= slowerBy * before + slowerMs,
  };
}

const judgeNone = (name: string, found: readonly string[]): Judgement => ({
  name,
  is: some(found),
  allowed: 'none',
  isGood: found.length === 0,
});

/** Who was killed must be there again, and everybody must have been: else the soak shows nothing. */
export function judgeStrikes({ strikes }: Pick<SoakRecord, 'strikes'>): Judgement {
  const lost = strikes.filter(({ awayMs }) => awayMs === undefined).map(({ target }) => target);
  const counts = [...Map.groupBy(strikes, ({ target }) => target)].map(
    ([target, all]) => `${target} ${all.length}`,
  );
  return {
    name: 'killed, and there again',
    is: lost.length > 0 ? `not again: ${lost.join(', ')}` : counts.join(', ') || 'nobody',
    allowed: 'everybody',
    isGood: lost.length === 0 && strikes.length > 0,
  };
}

const isServer = (name: string) => name.startsWith('nats-server ');

/**
 * Several NATS servers as one, at the times when all were there: whoever loses one goes to another, and what that has more is no
 * growth.
 */
function withServersTogether(record: SoakRecord): SoakRecord {
  const count = Math.max(
    ...record.samples.map(({ processes }) => Object.keys(processes).filter(isServer).length),
  );
  if (count < 2) return record;
  const samples = record.samples.map((sample) => {
    const { servers = [], others = [] } = Object.groupBy(Object.entries(sample.processes), ([name]) =>
      isServer(name) ? 'servers' : 'others',
    );
    const sumOf = (figure: 'life' | 'residentBytes' | 'descriptors' | 'cpuMs') =>
      servers.reduce((sum, [, one]) => sum + one[figure], 0);
    const all: ProcessSample = {
      life: sumOf('life'),
      residentBytes: sumOf('residentBytes'),
      descriptors: sumOf('descriptors'),
      cpuMs: sumOf('cpuMs'),
    };
    const together = servers.length === count ? { [`${count} NATS servers`]: all } : {};
    return { ...sample, processes: { ...Object.fromEntries(others), ...together } };
  });
  return { ...record, samples };
}

/** All questions, in the order of the table. */
export function judgeSoak(found: SoakRecord): Judgement[] {
  const record = withServersTogether(found);
  const names = [...new Set(record.samples.flatMap(({ processes }) => Object.keys(processes)))];
  const withTimers = names.filter((name) => series(record, name, ({ timers }) => timers).length > 0);
  return [
    ...names.map((name) => judgeMemory(record, name)),
    ...names.map((name) => judgeDescriptors(record, name)),
    ...withTimers.map((name) => judgeTimers(record, name)),
    ...judgeServers(record),
    judgeStream(record),
    judgeNone('dead letters', record.deadLetters),
    judgeNone('findings of rollcall verify', record.findings),
    judgeNone('wrongly Unreachable', record.wronged.unreachable),
    judgeNone('not as they should be at the end', record.restless),
    judgeNone('decisions of people that never came to be', record.people.failed),
    judgeStrikes(record),
    judgeTimes('connection cut → told on the bus', record.lossesTold, record),
    judgeTimes('silent → Unreachable', record.unreachable, record),
    judgeTimes('agent started → joined', record.joins, record),
  ];
}
