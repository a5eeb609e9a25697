import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { keepWriting } from './keep-writing.ts';

const gaveUp = "[ERR] JetStream stream 'A > EVENTS' critical write error: no space left on device\n";
const switchedOff = '[ERR] JetStream out of File resources, will be DISABLED\n';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'rollcall-writing-'));
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(directory, { recursive: true, force: true });
});

/** A server that begins another log at each start, as ours do. */
function aServer(onRestart: () => void = () => undefined) {
  const logPath = join(directory, 'nats-server.log');
  writeFileSync(logPath, 'ready\n');
  return {
    name: 'nats-server',
    directory,
    logPath,
    async restart() {
      renameSync(logPath, `${logPath}.previous`);
      writeFileSync(logPath, 'ready again\n');
      onRestart();
    },
  };
}

test.each([gaveUp, switchedOff])(
  'after %s a server is started again once, another one is left alone',
  async (said) => {
    const restarts: string[] = [];
    const given = { ...aServer(() => restarts.push('given up')) };
    const well = { ...given, name: 'other', logPath: join(directory, 'other.log') };
    const kept = keepWriting([well, given], () => undefined);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(restarts).toEqual([]);
    appendFileSync(given.logPath, said);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(restarts).toEqual(['given up']);
    await kept.stop();
  },
);

test('a disk that goes on failing gets a start every half minute, and no more after the end', async () => {
  let restarts = 0;
  const server = aServer(() => {
    restarts++;
    appendFileSync(server.logPath, gaveUp);
  });
  appendFileSync(server.logPath, gaveUp);
  const kept = keepWriting([server], () => undefined);
  await vi.advanceTimersByTimeAsync(65_000);
  expect(restarts).toBe(3);
  await kept.stop();
  await vi.advanceTimersByTimeAsync(65_000);
  expect(restarts).toBe(3);
});

test('a start that fails is said and tried again', async () => {
  const said: string[] = [];
  const server = aServer(() => {
    throw new Error('the port is busy');
  });
  appendFileSync(server.logPath, gaveUp);
  const kept = keepWriting([server], (message) => said.push(message));
  await vi.advanceTimersByTimeAsync(40_000);
  await kept.stop();
  expect(said.filter((message) => message.includes('the port is busy'))).toHaveLength(2);
});
