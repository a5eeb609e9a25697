import { expect, test } from 'vitest';
import { createRandom } from '../../../cli/simulate/random.ts';
import { createMachine } from './machine.ts';
import { createTimeline } from './timeline.ts';

function aMachine(cores: number) {
  const timeline = createTimeline();
  return { timeline, machine: createMachine(timeline, { name: 'm', cores }) };
}

test('one core that is asked at random moments makes wait as an M/D/1 queue does', () => {
  const { timeline, machine } = aMachine(1);
  const process = machine.process('p');
  const random = createRandom(3);
  const [costMs, share, count] = [1, 0.8, 200_000];
  let atMs = 0;
  const ask = (left: number) => {
    if (left === 0) return;
    atMs -= (Math.log(1 - random.next()) * costMs) / share;
    timeline.at(atMs, () => {
      process.submit(costMs, {});
      ask(left - 1);
    });
  };
  ask(count);
  timeline.run();
  // Pollaczek and Khinchine: ρ / (2 (1 - ρ)) times the work of one.
  const wantedMs = (share / (2 * (1 - share))) * costMs;
  expect(process.waits.meanMs() / wantedMs).toBeGreaterThan(0.9);
  expect(process.waits.meanMs() / wantedMs).toBeLessThan(1.1);
  expect(machine.busyShare()).toBeCloseTo(share, 1);
});

test('what is asked is done or given up, and nothing twice', () => {
  const { timeline, machine } = aMachine(2);
  const process = machine.process('p');
  const told = { done: 0, givenUp: 0 };
  for (let one = 0; one < 100; one++) {
    process.submit(10, { patienceMs: 95, whenOver: (isDone) => told[isDone ? 'done' : 'givenUp']++ });
  }
  timeline.run();
  // Two at a time: ten rounds begin within 95 ms.
  expect(told).toEqual({ done: 20, givenUp: 80 });
  expect([process.submitted(), process.done(), process.gaveUp()]).toEqual([100, 20, 80]);
  expect(process.workedMs()).toBe(200);
});

test('a process of one thread leaves the other core to others', () => {
  const { timeline, machine } = aMachine(2);
  const ends: string[] = [];
  const [single, other] = [machine.process('single', 1), machine.process('other')];
  for (const name of ['first', 'second']) {
    single.submit(10, { whenOver: () => ends.push(`${name} ${timeline.nowMs()}`) });
  }
  other.submit(5, { whenOver: () => ends.push(`other ${timeline.nowMs()}`) });
  timeline.run();
  expect(ends).toEqual(['other 5', 'first 10', 'second 20']);
});

test('what is taken of a machine makes the rest slower', () => {
  const { timeline, machine } = aMachine(1);
  machine.takeCores(0.5);
  machine.process('p').submit(10, {});
  timeline.run();
  expect(timeline.nowMs()).toBe(20);
});
