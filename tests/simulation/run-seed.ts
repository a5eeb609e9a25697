import type { StoredEvent } from '@rollcall/shared/events';
import { Agents } from './agents.ts';
import { Chronicle } from './chronicle.ts';
import type { FaultKind } from './faults.ts';
import { hubSecrets } from './nats-account.ts';
import { People } from './people.ts';
import { replayDifferences } from './replay.ts';
import { whatIsNotSettled } from './settled-world.ts';
import { Violation } from './violation.ts';
import { enterWorld } from './virtual-process.ts';
import { World } from './world.ts';

export type Mode = 'safety' | 'liveness';

export interface SeedResult {
  readonly mode: Mode;
  readonly violation: Violation | undefined;
  readonly events: number;
  readonly tasks: number;
  readonly conflicts: number;
  readonly history: readonly string[];
}

/** Longer than the longest wait of any of our parts: ack wait, back-off, an agent that rests after a refusal. */
const mostSettlingMs = 400_000;
const lookEveryMs = 5000;

/** Odd seeds: anything may go wrong until the end. Even seeds: faults stop, and everything must come to rest as it should. */
export function modeOf(seed: number): Mode {
  return seed % 2 === 0 ? 'liveness' : 'safety';
}

// Once, before the first seed: else that one would be another one than when it is run alone later.
hubSecrets();

/** Lives through one seed. The same seed gives the same history. */
export async function runSeed(
  seed: number,
  options: { counts: Map<FaultKind, number>; print: boolean },
): Promise<SeedResult> {
  // Our own errors are part of every seed, and nobody reads where most of them come from.
  Error.stackTraceLimit = options.print ? 20 : 0;
  const mode = modeOf(seed);
  const chronicle = new Chronicle((violation) => world.fail(violation));
  const onAppended = (batch: readonly StoredEvent[]) => {
    chronicle.appended(world, batch);
    for (const event of batch) people.saw(event);
  };
  const world = new World({ seed, ...options, onAppended });
  enterWorld(world.scheduler, world.random);
  world.kube.onChange((plural, object, type) => chronicle.changed(world, plural, object, type));
  const { scheduler, random } = world;
  const agents = new Agents(world);
  const people = new People(world, agents);

  async function runUntil(untilMs: number): Promise<void> {
    try {
      await scheduler.run(untilMs, () => world.violation !== undefined);
    } catch (thrown) {
      if (!(thrown instanceof Violation)) throw thrown;
      world.fail(thrown);
    }
  }

  world.start();
  people.begin();
  const { size } = world;
  const lastActMs = scheduler.nowMs + random.pick<number>(size.lastActMs);
  people.plan(lastActMs - scheduler.nowMs);
  await runUntil(lastActMs);
  if (mode === 'liveness') {
    world.faults.stop();
    world.kubeAwayUntilMs = 0;
    world.note('', () => 'from here on nothing goes wrong any more');
    const giveUpMs = scheduler.nowMs + mostSettlingMs;
    let open: string[] = [];
    do {
      await runUntil(scheduler.nowMs + lookEveryMs);
      open = world.violation ? [] : await whatIsNotSettled(world, agents, people);
    } while (open.length > 0 && scheduler.nowMs < giveUpMs);
    if (open.length > 0) world.fail(new Violation('it converges', open.join('; ')));
  }
  if (!world.violation) {
    const [difference] = replayDifferences(world.stream.stored);
    if (difference) world.fail(new Violation('I10 replay gives the same decisions', difference));
  }
  return {
    mode,
    violation: world.violation,
    events: world.stream.stored.length,
    tasks: scheduler.tasks,
    conflicts: world.conflicts,
    history: world.history,
  };
}
