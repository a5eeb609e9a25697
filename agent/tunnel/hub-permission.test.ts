import { expect, test } from 'vitest';
import { createHubPermission } from './hub-permission.ts';

function aHub() {
  const shutBy: string[] = [];
  let asked = 0;
  const permission = createHubPermission({
    ask: () => void asked++,
    onShut: (why) => shutBy.push(why),
    answersWithinMs: 5,
  });
  return { permission, shutBy, asked: () => asked };
}

test('the hub is asked once by all that come before it has answered, and not again', async () => {
  const { permission, asked } = aHub();
  const both = Promise.all([permission.refusal(), permission.refusal()]);
  permission.learn({ isShut: false, atHubMs: 1 });
  expect(await both).toEqual([undefined, undefined]);
  expect(await permission.refusal()).toBeUndefined();
  expect(asked()).toBe(1);
});

test('nobody gets in while the hub says nothing, and it is asked again', async () => {
  const { permission, asked } = aHub();
  expect(await permission.refusal()).toMatchObject({ refused: 'busy' });
  expect(await permission.refusal()).toMatchObject({ refused: 'busy' });
  expect(asked()).toBe(2);
});

test('what it said over a connection that was lost counts no more', async () => {
  const { permission, asked } = aHub();
  permission.learn({ isShut: false, atHubMs: 1 });
  permission.forget();
  expect(await permission.refusal()).toMatchObject({ refused: 'busy' });
  expect(asked()).toBe(1);
});

test('shut ends what is open, once; an older word opens nothing, and a newer one does', async () => {
  const { permission, shutBy } = aHub();
  permission.learn({ isShut: false, atHubMs: 1 });
  permission.learn({ isShut: true, atHubMs: 3 });
  permission.learn({ isShut: true, atHubMs: 4 });
  permission.learn({ isShut: false, atHubMs: 2 });
  expect(await permission.refusal()).toMatchObject({ refused: 'off' });
  expect(shutBy).toHaveLength(1);
  permission.learn({ isShut: false, atHubMs: 5 });
  expect(await permission.refusal()).toBeUndefined();
});

test('an older word that it is shut makes no older word count that it is open', async () => {
  const { permission } = aHub();
  permission.learn({ isShut: true, atHubMs: 6 });
  permission.learn({ isShut: true, atHubMs: 3 });
  permission.learn({ isShut: false, atHubMs: 5 });
  expect(await permission.refusal()).toMatchObject({ refused: 'off' });
});

test('what opened before a lost connection opens nothing when it is said again after it', async () => {
  const { permission } = aHub();
  permission.learn({ isShut: true, atHubMs: 6 });
  permission.forget();
  permission.learn({ isShut: false, atHubMs: 5 });
  expect(await permission.refusal()).toMatchObject({ refused: 'busy' });
  permission.learn({ isShut: false, atHubMs: 7 });
  expect(await permission.refusal()).toBeUndefined();
});
