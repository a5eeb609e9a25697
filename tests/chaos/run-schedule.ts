import { setTimeout as delay } from 'node:timers/promises';
import { clusterRecord } from '@rollcall/shared/events';
import { createRandom } from '../../cli/simulate/random.ts';
import { conditionOf, until } from '../harness/embedded.ts';
import { areAllCurrent } from '../harness/nats-nodes.ts';
import { type Broken, brokenInvariants } from './invariants.ts';
import { describeFault, type Schedule } from './schedule.ts';
import type { Stage } from './stage.ts';
import { type Strike, strike } from './strike.ts';
import type { AgentProcess } from './victims.ts';
import { clustersOf, doWork, type Workload } from './workload.ts';

export interface ScheduleResult {
  readonly seed: number;
  readonly strikes: readonly Strike[];
  readonly broken: readonly Broken[];
  readonly lastedMs: number;
  /** What coming to rest waited for the longest. */
  readonly slowest: { readonly what: string; readonly tookMs: number };
}

/** From the end of the last fault until everything must be as it should be. */
const settledWithinMs = 180_000;
const againMs = 300;

/** Waits until something is so. */
type Settles = (what: string, ask: () => Promise<boolean>) => Promise<void>;

/** `until` with the patience that a busy machine needs; what may be away for a moment is asked again. */
async function untilSettled(what: string, ask: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + settledWithinMs;
  for (;;) {
    const error = await until(what, ask).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (error === undefined) return;
    if (performance.now() > deadlineMs) throw error;
    await delay(againMs);
  }
}

async function isReady({ hub }: Stage, name: string): Promise<boolean> {
  const { liveness } = clusterRecord(await hub.log.read({ kind: 'cluster', id: name }));
  return liveness?.state === 'ready' && conditionOf(await hub.cluster(name), 'Ready')?.status === 'True';
}

async function hasLeft({ hub }: Stage, name: string): Promise<boolean> {
  const { identity } = clusterRecord(await hub.log.read({ kind: 'cluster', id: name }));
  return identity?.state === 'left' && (await hub.cluster(name)) === undefined;
}

/** I8: whoever is there is Ready, what people wanted is so, and who was to leave has left. */
async function settle(stage: Stage, { changed, left }: Workload, settles: Settles): Promise<void> {
  if (stage.settings.servers > 1)
    await settles('every NATS server has everything', () => areAllCurrent(stage.bus));
  if (left !== undefined) {
    await settles(`${left} has left`, () => hasLeft(stage, left));
    for (const agent of stage.agents) agent.forget(left);
  }
  for (const name of clustersOf(stage)) {
    await settles(`${name} is Ready`, () => isReady(stage, name));
    // Which Ready does not wait for.
    await settles(`${name} has its access`, async () => {
      const { access } = clusterRecord(await stage.hub.log.read({ kind: 'cluster', id: name }));
      return access?.state === 'provisioned';
    });
  }
  await settles(`${changed.cluster} has its label`, async () => {
    const { decision } = clusterRecord(await stage.hub.log.read({ kind: 'cluster', id: changed.cluster }));
    return decision?.labels['chaos'] === changed.label;
  });
}

/** I6: agents that are dead are not shown as Ready; and alive again, they are. */
async function dieAndComeBack(stage: Stage, agent: AgentProcess, settles: Settles): Promise<void> {
  const names = agent.clusters();
  await agent.kill();
  for (const name of names) await settles(`${name} is not Ready`, async () => !(await isReady(stage, name)));
  await agent.start();
  for (const name of names) await settles(`${name} is Ready again`, () => isReady(stage, name));
}

/** @param known - see brokenInvariants */
export async function runSchedule(
  stage: Stage,
  schedule: Schedule,
  known: Map<number, string>,
): Promise<ScheduleResult> {
  const startedMs = performance.now();
  const random = createRandom(schedule.seed + 0x5eed);
  const lastBefore = Math.max(0, ...known.keys());
  const strikes: Strike[] = [];
  const broken: Broken[] = [];
  let slowest = { what: 'nothing', tookMs: 0 };
  const settlesTimed: Settles = async (what, ask) => {
    const beganMs = performance.now();
    await untilSettled(what, ask);
    const tookMs = performance.now() - beganMs;
    if (tookMs > slowest.tookMs) slowest = { what, tookMs };
  };
  try {
    const token = await stage.hub.createToken({ uses: schedule.joinsAtMs.length });
    stage.secrets.push(token.text.split('.').at(-1) ?? token.text);
    const struck = schedule.faults.map(async (fault) => {
      await delay(fault.atMs);
      strikes.push(await strike(stage, fault));
    });
    const [workload] = await Promise.all([
      doWork(stage, schedule, { token: token.text, random }),
      Promise.all(struck),
    ]);
    await settle(stage, workload, settlesTimed);
    const dead = random.pick(stage.agents);
    const beforeDeath = (await Array.fromAsync(stage.hub.log.scan({}))).at(-1)?.sequence ?? 0;
    await dieAndComeBack(stage, dead, settlesTimed);
    const found = await brokenInvariants(stage, known);
    broken.push(...found.broken);
    for (const event of found.events)
      // Whoever was dead for the grace is declared so rightly.
      if (
        event.sequence > lastBefore &&
        event.type === 'unreachable' &&
        !(event.sequence > beforeDeath && dead.clusters().includes(event.id))
      )
        broken.push({
          invariant: 'I7 nobody alive is declared dead',
          what: `event ${event.sequence} (${event.id})`,
        });
  } catch (thrown) {
    broken.push({ invariant: 'I8 everything comes to rest', what: String(thrown) });
  }
  for (const { fault, evidence } of strikes)
    if (evidence === undefined) broken.push({ invariant: 'every fault fires', what: describeFault(fault) });
  return { seed: schedule.seed, strikes, broken, lastedMs: performance.now() - startedMs, slowest };
}
