import type { NatsConnection } from '@nats-io/transport-node';
import { digestAt, type HistoryWitness, keptWitness } from '@rollcall/shared/bus';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../../tests/harness/embedded.ts';
import { type AccountControllerWorld, startWorld } from './account-controller-world.ts';

/** What the account-controller believes of who says what Kubernetes shows of the history (ADR 16). */
let world: AccountControllerWorld;
let projector: NatsConnection;
beforeEach(async () => {
  world = await startWorld();
  projector = await world.hub.connectAs('projector');
});
afterEach(() => world?.[Symbol.asyncDispose]());

const untilKept = (what: string, isSo: (witness: HistoryWitness) => boolean) =>
  until(what, async () => {
    const witness = await keptWitness(projector);
    return witness !== undefined && isSo(witness) && witness;
  });

test('an event that Kubernetes shows and the history does not have becomes the witness, and nothing is given any more', async () => {
  await world.say('approved', 'one');
  await using controller = await world.startController();
  const { epoch, sequence } = await untilKept('the witness is kept', () => true);
  const shown = { epoch, sequence: sequence + 1000, digest: 'sha256:shown' };
  projector.publish('rollcall.history.witnessed', JSON.stringify(shown));
  await untilKept('it is the witness', (kept) => kept.sequence === shown.sequence);
  await expect.poll(() => controller.notReady(), { timeout: 30_000 }).toMatch(/^HISTORY_LOST/);
});

test('it does so where the history has gone on past it since, as one that was cut short by little does in a moment', async () => {
  for (const id of ['one', 'two', 'three']) await world.say('approved', id);
  await using controller = await world.startController();
  const { epoch, sequence } = await untilKept('the witness is kept', (kept) => kept.sequence >= 3);
  const shown = { epoch, sequence: sequence - 1, digest: 'sha256:shown' };
  projector.publish('rollcall.history.witnessed', JSON.stringify(shown));
  await untilKept('it is the witness', (kept) => kept.digest === shown.digest);
  await expect.poll(() => controller.notReady(), { timeout: 30_000 }).toMatch(/^HISTORY_LOST/);
});

test('while more is missed, an event that the history does have takes the place of nothing', async () => {
  for (const id of ['one', 'two', 'three']) await world.say('approved', id);
  const there = await digestAt(projector, 2);
  await using controller = await world.startController();
  const { epoch, sequence } = await untilKept('the witness is kept', (kept) => kept.sequence >= 3);
  const tell = (shown: object) =>
    projector.publish('rollcall.history.witnessed', JSON.stringify({ epoch, ...shown }));
  tell({ sequence: sequence + 1000, digest: 'sha256:shown' });
  await untilKept('it is the witness', (kept) => kept.sequence === sequence + 1000);
  tell({ sequence: 2, digest: there });
  // Told after it, and kept: the one before was not.
  tell({ sequence: sequence + 2000, digest: 'sha256:shown-last' });
  const seen: number[] = [];
  await untilKept('the last is the witness', (kept) => {
    seen.push(kept.sequence);
    return kept.sequence === sequence + 2000;
  });
  expect(seen).not.toContain(2);
  expect(controller.notReady()).toMatch(/^HISTORY_LOST/);
});

test.each([
  { what: 'of a later epoch', lie: { epoch: 1_000_000, sequence: 1_000_000, digest: 'sha256:lie' } },
  { what: 'before the first event', lie: { epoch: 1, sequence: -1, digest: 'sha256:lie' } },
  { what: 'with fewer gaps than none', lie: { epoch: 1, sequence: 1, digest: 'sha256:lie', missing: -5 } },
])('an event $what is no witness, and everything goes on', async ({ lie }) => {
  await world.say('approved', 'one');
  await using controller = await world.startController();
  const before = await untilKept('the witness is kept', () => true);
  projector.publish('rollcall.history.witnessed', JSON.stringify(lie));
  await projector.flush();
  await world.say('revoked', 'one', [world.hub.agentCredentials('member', 'one').publicKey]);
  const after = await untilKept('the witness goes on', ({ sequence }) => sequence > before.sequence);
  expect(after.epoch).toBe(before.epoch);
  expect(controller.notReady()).toBeUndefined();
});

/** How much the account-controller has asked of the server. */
async function asked(): Promise<number> {
  const nc = await world.hub.connectWith(world.hub.credentialsOf('claims'), 'claims');
  const query = { acc: world.keys.roles['ACCOUNT-CONTROLLER'] };
  const answer = await nc.request('rollcall.sys.connections', JSON.stringify(query), { timeout: 5000 });
  const { data } = answer.json<{ data: { connections: { in_msgs: number }[] } }>();
  return data.connections.reduce((sum, { in_msgs: messages }) => sum + messages, 0);
}

test('who says the same thousands of times at once has it looked at a few times', async () => {
  await world.say('approved', 'one');
  await using controller = await world.startController();
  const kept = await untilKept('the witness is kept', () => true);
  const before = await asked();
  const tell = (shown: HistoryWitness) =>
    projector.publish('rollcall.history.witnessed', JSON.stringify(shown));
  for (let said = 0; said < 3000; said++) tell(kept);
  const last = { epoch: kept.epoch, sequence: kept.sequence + 1000, digest: 'sha256:shown' };
  tell(last);
  await untilKept('the last is heard', ({ sequence }) => sequence === last.sequence);
  expect((await asked()) - before).toBeLessThan(3000);
  expect(controller.notReady()).toMatch(/^HISTORY_LOST/);
});
