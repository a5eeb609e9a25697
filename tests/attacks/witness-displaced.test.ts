import { setTimeout as delay } from 'node:timers/promises';
import { keptWitness } from '@rollcall/shared/bus';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type AccountControllerWorld,
  startWorld,
} from '../../services/account-controller/tests/account-controller-world.ts';
import { until } from '../harness/embedded.ts';
import { connectRaw } from '../harness/raw-bus.ts';

/** A stolen projector says true things all the time: the true word of another replica, that the history is shorter than what is shown, was displaced. */
let world: AccountControllerWorld;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world?.[Symbol.asyncDispose]());

test('what the true projector says is lost is heard, whatever a stolen one says beside it', async () => {
  for (const id of ['one', 'two', 'three']) await world.say('approved', id);
  await using controller = await world.startController();
  const projector = await world.hub.connectAs('projector');
  const kept = await until('the witness is kept', async () => {
    const witness = await keptWitness(projector);
    return witness !== undefined && witness.sequence >= 3 && witness;
  });
  await using thief = await connectRaw(world.hub, world.hub.credentialsOf('projector'));
  const true1 = { subject: 'rollcall.history.witnessed', body: JSON.stringify(kept) };
  const stop = new AbortController();
  const lying = (async () => {
    while (!stop.signal.aborted) await thief.send(Array.from({ length: 200 }, () => true1));
  })();
  await delay(500);
  const shown = { epoch: kept.epoch, sequence: kept.sequence + 1000, digest: 'sha256:shown' };
  // It says so as it stops, and is started again every few seconds.
  for (let said = 0; said < 5; said++) {
    projector.publish('rollcall.history.witnessed', JSON.stringify(shown));
    await delay(2000);
  }
  const reason = controller.notReady();
  stop.abort();
  await lying;
  expect(reason).toMatch(/^HISTORY_LOST/);
}, 60_000);
