import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError } from '@rollcall/shared/errors';
import { startTestHub, type TestHub } from '../../tests/harness/test-hub.ts';
import { compiledProgram } from '../hub/agent-program.ts';
import type { SenderSettings, Taken, Taker, TakerReport, TakerSettings } from './heartbeat-settings.ts';
import { quantile } from '../../cli/simulate/report/quantile.ts';

/** What heartbeats cost one heartbeat service, and a process that only subscribes to them, in turns. */
export interface HeartbeatsResult {
  readonly ratePerSecond: number;
  readonly emptyCpuShare: number;
  readonly sizes: readonly HeartbeatsOfSize[];
}

export interface HeartbeatsOfSize {
  readonly clusters: number;
  /** Of one core, user and system; median of the rounds. */
  readonly cpuShare: number;
  readonly cpuUsPerHeartbeat: number;
  /** To the empty subscriber of the same round; median. */
  readonly timesEmpty: number;
  readonly residentBytes: number;
  /** Heartbeats that were sent and not taken, and transitions that would have been written; 0 of both is right. */
  readonly lost: number;
  readonly wrong: number;
}

/** A million clusters that send heartbeats once a minute. */
const ratePerSecond = 16_700;
const sizes = [10_000, 100_000, 1_000_000] as const;
const takers: readonly Taker[] = ['empty', ...sizes];
const connections = 4;
const rounds = 5;
const warmUpMs = 1500;

/** What one stretch cost, and what came of all that was sent before, in and after it. */
interface Stretch extends TakerReport {
  readonly lost: number;
  readonly proposals: number;
}

interface Worker extends AsyncDisposable {
  tell<Answer>(order: unknown): Promise<Answer>;
}

async function startWorker(program: string, settings: TakerSettings | SenderSettings): Promise<Worker> {
  const child: ChildProcess = fork(program, [JSON.stringify(settings)], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit').then((): never => {
    throw new RollcallError('CHILD_FAILED', `${program} ended by itself`);
  });
  exited.catch(() => undefined);
  const next = async () => ((await Promise.race([once(child, 'message'), exited])) as unknown[])[0];
  await next();
  return {
    async tell<Answer>(order: unknown) {
      const answer = next();
      child.send(order as string);
      return (await answer) as Answer;
    },
    async [Symbol.asyncDispose]() {
      child.disconnect();
      await exited.catch(() => undefined);
    },
  };
}

function senderOf(hub: TestHub): Promise<Worker> {
  // In the service's account: what comes from the agents' arrives there as the same message.
  const role = {
    account: 'HEARTBEAT',
    description: 'the bench',
    publish: ['rollcall.heartbeat.*'],
  } as const;
  const user = hub.userWith({ ...role, subscribe: ['_INBOX_sender.>'] }, 'sender');
  return startWorker(join(import.meta.dirname, 'heartbeat-sender.ts'), {
    ratePerSecond,
    connections,
    address: hub.address,
    user,
  });
}

/** @param seconds - all that is measured, in turns; what it takes to get ready comes on top */
export async function measureHeartbeats(
  seconds: number,
  say: (message: string) => void,
): Promise<HeartbeatsResult> {
  await using hub = await startTestHub();
  await using sender = await senderOf(hub);
  await using workers = new AsyncDisposableStack();
  const user = hub.credentialsOf('heartbeat');
  const program = compiledProgram(join('bench', 'liveness', 'heartbeat-taker.js'));
  const ready: { taker: Taker; worker: Worker; stretches: Stretch[] }[] = [];
  for (const taker of takers) {
    if (taker !== 'empty') say(`a heartbeat service of ${taker} clusters`);
    const settings = { taker, ratePerSecond, address: hub.address, user };
    const worker = workers.use(await startWorker(program, settings));
    ready.push({ taker, worker, stretches: [] });
  }
  const stretchMs = (seconds * 1000) / rounds / takers.length;
  say(`${ratePerSecond} heartbeats a second, ${rounds} rounds of ${(stretchMs / 1000).toFixed(1)} s each`);
  for (let round = 0; round < rounds; round++) {
    for (const { taker, worker, stretches } of ready) {
      await worker.tell('listen');
      await sender.tell(taker === 'empty' ? 1_000_000 : taker);
      await delay(warmUpMs);
      await worker.tell('begin');
      await delay(stretchMs);
      const report = await worker.tell<TakerReport>('end');
      const sent = await sender.tell<number>(0);
      const { heartbeats, proposals } = await worker.tell<Taken>('stop');
      stretches.push({ ...report, lost: sent - heartbeats, proposals });
    }
  }
  const empty = ready.flatMap(({ taker, stretches }) => (taker === 'empty' ? stretches : []));
  return {
    ratePerSecond,
    emptyCpuShare: median(empty.map(shareOf)),
    sizes: ready.flatMap(({ taker, stretches }) =>
      taker === 'empty' ? [] : [sizeOf(taker, stretches, empty)],
    ),
  };
}

const shareOf = ({ cpuMs, lastedMs }: TakerReport) => cpuMs / lastedMs;
const perHeartbeatUs = ({ cpuMs, heartbeats }: TakerReport) => (cpuMs * 1000) / heartbeats;
const median = (values: readonly number[]) => quantile(values, 0.5);

function sizeOf(
  clusters: number,
  stretches: readonly Stretch[],
  empty: readonly Stretch[],
): HeartbeatsOfSize {
  return {
    clusters,
    cpuShare: median(stretches.map(shareOf)),
    cpuUsPerHeartbeat: median(stretches.map(perHeartbeatUs)),
    timesEmpty: median(
      stretches.map((one, round) => perHeartbeatUs(one) / perHeartbeatUs(empty[round] ?? one)),
    ),
    residentBytes: Math.max(...stretches.map((one) => one.residentBytes)),
    lost: stretches.reduce((sum, { lost }) => sum + lost, 0),
    wrong: stretches.at(-1)?.proposals ?? 0,
  };
}
