import type { NatsConnection } from '@nats-io/transport-node';
import { type HistoryWitness, keptWitness } from '@rollcall/shared/bus';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../../tests/harness/embedded.ts';
import { type KeeperWorld, startWorld } from './keeper-world.ts';

/** What the trust-keeper believes of who says what Kubernetes shows of the history (ADR 51). */
let world: KeeperWorld;
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
  await using keeper = await world.startKeeper();
  const { epoch, sequence } = await untilKept('the witness is kept', () => true);
  const shown = { epoch, sequence: sequence + 1000, digest: 'sha256:shown' };
  projector.publish('rollcall.history.witnessed', JSON.stringify(shown));
  await untilKept('it is the witness', (kept) => kept.sequence === shown.sequence);
  await expect.poll(() => keeper.notReady(), { timeout: 30_000 }).toMatch(/^HISTORY_LOST/);
});

test.each([
  { what: 'of a later epoch', lie: { epoch: 1_000_000, sequence: 1_000_000, digest: 'sha256:lie' } },
  { what: 'before the first event', lie: { epoch: 1, sequence: -1, digest: 'sha256:lie' } },
  { what: 'with fewer gaps than none', lie: { epoch: 1, sequence: 1, digest: 'sha256:lie', missing: -5 } },
])('an event $what is no witness, and everything goes on', async ({ lie }) => {
  await world.say('approved', 'one');
  await using keeper = await world.startKeeper();
  const before = await untilKept('the witness is kept', () => true);
  projector.publish('rollcall.history.witnessed', JSON.stringify(lie));
  await projector.flush();
  await world.say('revoked', 'one', [world.hub.agentCredentials('member', 'one').publicKey]);
  const after = await untilKept('the witness goes on', ({ sequence }) => sequence > before.sequence);
  expect(after.epoch).toBe(before.epoch);
  expect(keeper.notReady()).toBeUndefined();
});
