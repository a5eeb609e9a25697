import { readdirSync } from 'node:fs';
import { loadavg } from 'node:os';
import type { NatsConnection } from '@nats-io/transport-node';
import { streamSize, type StreamSize } from '@rollcall/shared/bus';
import { cpuMs, residentBytes } from '../../cli/simulate/report/process-usage.ts';
import type { GaugeReading } from './gauge.ts';
import { readGauge } from './read-gauge.ts';
import type { SoakProcess, SoakStage } from './soak-stage.ts';

/** What a process says of itself is of our own ones only. */
export interface ProcessSample extends Partial<GaugeReading> {
  readonly life: number;
  readonly residentBytes: number;
  readonly descriptors: number;
  readonly cpuMs: number;
}

/** What all NATS servers together have. */
export interface ServerSample {
  readonly connections: number;
  readonly subscriptions: number;
  readonly consumers: number;
}

/** Everything there is at one time. */
export interface Sample {
  /** From when the fleet was there. */
  readonly atMs: number;
  readonly load: number;
  readonly processes: Readonly<Record<string, ProcessSample>>;
  /** Absent: a server did not answer, as when it was just killed. */
  readonly servers?: ServerSample;
  readonly streams: Readonly<Partial<Record<'EVENTS' | 'FACTS' | 'DEAD', StreamSize>>>;
}

interface ServerAnswer {
  readonly server: { readonly name: string };
  readonly data?: Readonly<Record<string, number>>;
}

const silenceMs = 1000;
const answerWithinMs = 5000;

async function askServers(nc: NatsConnection, what: string): Promise<ServerAnswer[]> {
  const answers: ServerAnswer[] = [];
  const replies = await nc.requestMany(`$SYS.REQ.SERVER.PING.${what}`, '', {
    strategy: 'stall',
    stall: silenceMs,
    maxWait: answerWithinMs,
  });
  for await (const reply of replies) answers.push(reply.json<ServerAnswer>());
  return answers;
}

const sumOf = (answers: readonly ServerAnswer[], figure: string): number =>
  answers.reduce((sum, { data }) => sum + (data?.[figure] ?? 0), 0);

async function sampleServers({ system, targets }: SoakStage): Promise<ServerSample | undefined> {
  const count = [...targets.keys()].filter((name) => name.startsWith('nats-server')).length;
  const found = await Promise.all([askServers(system, 'VARZ'), askServers(system, 'JSZ')]).catch(
    () => undefined,
  );
  const [general = [], jetstream = []] = found ?? [];
  if (general.length < count || jetstream.length < count) return undefined;
  return {
    connections: sumOf(general, 'connections'),
    subscriptions: sumOf(general, 'subscriptions'),
    // Each of several servers counts all that it keeps a copy of.
    consumers: Math.max(...jetstream.map(({ data }) => data?.['consumers'] ?? 0)),
  };
}

async function sampleProcess({ pid, life, gauge }: SoakProcess): Promise<ProcessSample | undefined> {
  const reading = gauge === undefined ? undefined : await readGauge(pid, gauge);
  const [resident, used] = [residentBytes(pid), cpuMs(pid)];
  const mustSay = gauge !== undefined && reading === undefined;
  if (resident === undefined || used === undefined || mustSay) return undefined;
  return {
    life,
    residentBytes: resident,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    cpuMs: used,
    ...reading,
  };
}

/** @param beganMs - on the monotonic clock, when the fleet was there */
export async function takeSample(stage: SoakStage, beganMs: number): Promise<Sample> {
  const atMs = performance.now() - beganMs;
  const found = await Promise.all(
    stage
      .processes()
      .map(async (one) => [one.name, await sampleProcess(one).catch(() => undefined)] as const),
  );
  const processes: Record<string, ProcessSample> = {};
  for (const [name, sample] of found) if (sample) processes[name] = sample;
  const servers = await sampleServers(stage);
  const streams: Partial<Record<'EVENTS' | 'FACTS' | 'DEAD', StreamSize>> = {};
  for (const name of ['EVENTS', 'FACTS', 'DEAD'] as const) {
    const size = await streamSize(stage.bus, name).catch(() => undefined);
    if (size) streams[name] = size;
  }
  return { atMs, load: loadavg()[0] ?? Number.NaN, processes, ...(servers ? { servers } : {}), streams };
}
