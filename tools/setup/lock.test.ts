import { existsSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { withLock } from './lock.mjs';
import { temporaryFolder } from './test-programs.ts';

const neverWaits = (holder: string) => {
  throw new Error(`waits for ${holder}`);
};
const holderFile = (pid: number, host = hostname()) => JSON.stringify({ pid, host, since: 'then' });
const newLock = () => join(temporaryFolder(), 'locks', 'work.lock');

/** The id of a process that has ended. */
const endedPid = () => spawnSync('true').pid;

test('the second waits, says for whom, and works when the first has finished', async () => {
  const file = newLock();
  const order: string[] = [];
  let finishFirst: (() => void) | undefined;
  const first = withLock(file, { onWait: neverWaits }, async () => {
    order.push('first starts');
    await new Promise<void>((resolve) => (finishFirst = resolve));
    order.push('first ends');
  });
  const onWait = (holder: string) => {
    order.push(holder.includes(String(process.pid)) ? 'second waits' : holder);
    finishFirst?.();
  };
  await withLock(file, { onWait }, async () => order.push('second works'));
  await first;
  expect(order).toEqual(['first starts', 'second waits', 'first ends', 'second works']);
  expect(existsSync(file)).toBe(false);
});

test.each([
  { name: 'its process has ended', text: () => holderFile(endedPid()), ageSeconds: 0 },
  {
    name: 'nobody touched it for long',
    text: () => holderFile(process.pid, 'another machine'),
    ageSeconds: 61,
  },
  { name: 'it was never written to its end', text: () => '{"pid":', ageSeconds: 61 },
])('a lock is taken over when $name', async ({ text, ageSeconds }) => {
  const file = join(temporaryFolder(), 'work.lock');
  writeFileSync(file, text());
  const atSeconds = Date.now() / 1000 - ageSeconds;
  utimesSync(file, atSeconds, atSeconds);
  const holder = await withLock(file, { onWait: neverWaits }, async () => readFileSync(file, 'utf8'));
  expect(JSON.parse(holder)).toMatchObject({ pid: process.pid });
});

test('a process of another machine is not judged by its id', async () => {
  const file = join(temporaryFolder(), 'work.lock');
  writeFileSync(file, holderFile(endedPid(), 'another machine'));
  const stop = new AbortController();
  const waiting = withLock(file, { onWait: () => stop.abort(), signal: stop.signal }, async () => 'worked');
  await expect(waiting).rejects.toThrow(/abort/i);
});

test('the lock is free again after an error', async () => {
  const file = newLock();
  await expect(withLock(file, { onWait: neverWaits }, () => Promise.reject(new Error('no')))).rejects.toThrow(
    'no',
  );
  expect(existsSync(file)).toBe(false);
});
