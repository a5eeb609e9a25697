import { expect, test, vi } from 'vitest';
import { watchReceiving } from './watch-receiving.ts';

test('who receives nothing says so until its own heartbeats come back, without being asked', async () => {
  let comesBack = true;
  let proofs = 0;
  const watch = watchReceiving({ isClosed: () => false }, async () => (proofs++, comesBack), 1);
  expect(await watch.check()).toBe(true);
  expect(watch.receivesNothing()).toBe(false);
  comesBack = false;
  expect(await watch.check()).toBe(false);
  await vi.waitFor(() => expect(proofs).toBeGreaterThan(4));
  expect(watch.receivesNothing()).toBe(true);
  comesBack = true;
  await vi.waitFor(() => expect(watch.receivesNothing()).toBe(false));
});

test('once the bus is closed nothing is proved again', async () => {
  let proofs = 0;
  const watch = watchReceiving({ isClosed: () => true }, async () => (proofs++, false), 1);
  expect(await watch.check()).toBe(false);
  await new Promise((resolve) => void setTimeout(resolve, 20));
  expect(proofs).toBe(1);
});
