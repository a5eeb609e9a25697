import { RollcallError } from '@rollcall/shared/errors';
import { foldRecord } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import type { EventLog } from '../event-log.ts';
import { shareReads } from './share-reads.ts';

const token = { kind: 'token', id: 'one' } as const;

/** A log whose reads end when they are told to. */
function aLog() {
  const reads: PromiseWithResolvers<void>[] = [];
  async function under<Result>(result: Result): Promise<Result> {
    const read = Promise.withResolvers<void>();
    reads.push(read);
    await read.promise;
    return result;
  }
  const skipped = { kind: 'policy', id: 'new', type: 'declared', sequence: 7 } as const;
  const log: EventLog = {
    heard: () => undefined,
    read: (aggregate) => under(foldRecord(aggregate, [])),
    async readAll(_filter, { onSkip } = {}) {
      await under(undefined);
      onSkip?.(new RollcallError('EVENT_VERSION_UNKNOWN', 'newer'), skipped);
      return [];
    },
    async *aggregates() {},
    lastWords: async () => undefined,
    async *scan() {},
    append: async () => undefined,
  };
  return { log: shareReads(log), reads };
}

test('who asks while one reads waits for the next read, and shares it', async () => {
  const { log, reads } = aLog();
  const all = [log.read(token), log.read(token), log.read(token)];
  expect(reads).toHaveLength(1);
  reads[0]?.resolve();
  await all[0];
  await expect.poll(() => reads.length).toBe(2);
  reads[1]?.resolve();
  await Promise.all(all);
  expect(reads).toHaveLength(2);
});

test('different things are read side by side, and nothing is remembered', async () => {
  const { log, reads } = aLog();
  const both = [log.read(token), log.read({ kind: 'token', id: 'two' })];
  expect(reads).toHaveLength(2);
  for (const read of reads) read.resolve();
  await Promise.all(both);
  const again = log.read(token);
  expect(reads).toHaveLength(3);
  reads[2]?.resolve();
  await again;
});

test('a read that fails fails for those who shared it, and not for who comes later', async () => {
  const { log, reads } = aLog();
  const first = log.read(token);
  const second = log.read(token);
  reads[0]?.reject(new RollcallError('BUS_UNREACHABLE', 'away'));
  await expect(first).rejects.toMatchObject({ code: 'BUS_UNREACHABLE' });
  await expect.poll(() => reads.length).toBe(2);
  reads[1]?.resolve();
  await expect(second).resolves.toMatchObject({ aggregate: token });
});

test('each one is told of what could not be decoded', async () => {
  const { log, reads } = aLog();
  const told: number[] = [];
  const all = [1, 2, 3].map((who) => log.readAll('policy.*.*', { onSkip: () => told.push(who) }));
  reads[0]?.resolve();
  await expect.poll(() => reads.length).toBe(2);
  reads[1]?.resolve();
  await Promise.all(all);
  expect(told.toSorted()).toEqual([1, 2, 3]);
});
