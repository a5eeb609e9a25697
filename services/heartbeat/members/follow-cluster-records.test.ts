import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { NatsConnection } from '@nats-io/transport-node';
import type { HeardEvent } from '@rollcall/shared/bus';
import type { AggregateRecord } from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';
import { watchRecords } from './follow-cluster-records.ts';

const quiet: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => quiet,
};

/** In which order they were stored. */
const sequenceOf = (type: string) => ['denied', 'approved', 'admitted', 'left'].indexOf(type) + 1;

/** Whoever waits for a read is there once all promises have settled. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A bus on which the test says what is heard, and a stream whose answers it gives. */
function aWatch(isKnown: boolean, isNews = () => true) {
  const heard = new Map<string, (error: null, message: object) => void>();
  const nc = {
    subscribe: (subject: string, { callback }: { callback: (error: null, message: object) => void }) => {
      heard.set(subject.split('.').at(-1) ?? '', callback);
      return { unsubscribe: () => undefined };
    },
  } as unknown as NatsConnection;
  const reads: PromiseWithResolvers<AggregateRecord>[] = [];
  const changed: string[] = [];
  const watch = watchRecords(nc, {
    log: {
      heard: (message) => message as unknown as HeardEvent,
      async *scan() {},
      read: () => {
        const read = Promise.withResolvers<AggregateRecord>();
        reads.push(read);
        return read.promise;
      },
    },
    logger: quiet,
    isNews,
    isKnown: () => isKnown,
    changed: (clusterId) => changed.push(clusterId),
  });
  watch.open();
  const say = (id: string, type: string, section?: object) => {
    const sequence = sequenceOf(type);
    const decode = () => section && { sequence, epoch: 1, section };
    heard.get(type)?.(null, { id, type, sequence, decode });
  };
  return { watch, reads, changed, say };
}

const recordOf = (id: string, ...types: string[]): AggregateRecord => ({
  aggregate: { kind: 'cluster', id },
  head: { epoch: 1, sequence: sequenceOf(types.at(-1) ?? ''), digest: '' },
  newest: undefined,
  lastOf: {},
});

test('of two readings of one cluster the younger one counts, however long the older one takes', async () => {
  const { watch, reads, changed, say } = aWatch(true);
  say('c-1', 'denied');
  say('c-1', 'approved');
  say('c-2', 'approved');
  await settled();
  expect(reads).toHaveLength(2);
  // Records that tell of what was heard, so that nothing is read again after a while.
  reads[1]?.resolve(recordOf('c-2', 'approved'));
  await settled();
  expect(changed).toEqual(['c-2']);
  reads[0]?.resolve(recordOf('c-1', 'denied'));
  await settled();
  expect(changed).toEqual(['c-2', 'c-1']);
  expect(reads).toHaveLength(3);
  reads[2]?.resolve(recordOf('c-1', 'approved'));
  await watch.stop();
});

test('a reading that fails is done again for all that was heard, whatever is known of the cluster by then', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    let isNews = true;
    const { watch, reads, changed, say } = aWatch(true, () => isNews);
    say('c-1', 'denied');
    await settled();
    // Heard while it is read, and then together in one reading, which fails.
    say('c-1', 'approved');
    say('c-1', 'admitted');
    reads[0]?.resolve(recordOf('c-1', 'denied'));
    await settled();
    reads[1]?.reject(new Error('the bus is away'));
    await settled();
    isNews = false;
    vi.runAllTimers();
    await settled();
    expect(reads).toHaveLength(3);
    reads[2]?.resolve(recordOf('c-1', 'admitted'));
    await settled();
    expect(changed).toEqual(['c-1', 'c-1']);
    await watch.stop();
  } finally {
    vi.useRealTimers();
  }
});

test('a record that cannot be read for an hour is read when it can be', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const { watch, reads, changed, say } = aWatch(true);
    say('c-1', 'denied');
    for (let minute = 0; minute < 60; minute++) {
      await settled();
      reads.at(-1)?.reject(new Error('the bus is away'));
      await settled();
      vi.advanceTimersByTime(60_000);
    }
    await settled();
    reads.at(-1)?.resolve(recordOf('c-1', 'denied'));
    await settled();
    expect(changed).toEqual(['c-1']);
    await watch.stop();
  } finally {
    vi.useRealTimers();
  }
});

const recordWith = (...types: string[]) => recordOf('c-1', ...types);

describe('an approval of a cluster that is no member yet', () => {
  beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => vi.useRealTimers());

  test('is read with the admission that follows it', async () => {
    const { watch, reads, say } = aWatch(false);
    say('c-1', 'approved');
    await settled();
    expect(reads).toHaveLength(0);
    say('c-1', 'admitted');
    await settled();
    reads[0]?.resolve(recordWith('approved', 'admitted'));
    await settled();
    vi.runAllTimers();
    await settled();
    expect(reads).toHaveLength(1);
    await watch.stop();
  });

  const approval = { approvedKey: 'K' };
  test('is not read at all where the admission that follows it says the rest', async () => {
    const { watch, reads, changed, say } = aWatch(false);
    say('c-1', 'approved', approval);
    say('c-1', 'admitted', { admittedKey: 'K' });
    vi.runAllTimers();
    await settled();
    expect([reads.length, changed]).toEqual([0, ['c-1']]);
    await watch.stop();
  });

  test.each([
    { what: 'of a key that took over from another one', admission: { admittedKey: 'K', rotatedFrom: 'J' } },
    { what: 'of another key', admission: { admittedKey: 'L' } },
    { what: 'that cannot be decoded', admission: undefined },
    { what: 'after another word that was heard', between: 'denied', admission: { admittedKey: 'K' } },
  ])('is read with an admission $what', async ({ between, admission }) => {
    const { watch, reads, say } = aWatch(false);
    say('c-1', 'approved', approval);
    if (between) say('c-1', between, {});
    say('c-1', 'admitted', admission);
    await settled();
    expect(reads).toHaveLength(1);
    reads[0]?.resolve(recordWith('approved', 'admitted'));
    await settled();
    await watch.stop();
  });

  test.each([
    { what: 'when nothing follows', after: [] },
    { what: 'when what follows was read too early to tell of it', after: ['denied'] },
  ])('is read by itself $what', async ({ after }) => {
    const { watch, reads, changed, say } = aWatch(false);
    say('c-1', 'approved');
    for (const type of after) say('c-1', type);
    await settled();
    expect(reads).toHaveLength(after.length);
    reads[0]?.resolve(recordWith(...after));
    await settled();
    vi.runAllTimers();
    await settled();
    expect(reads).toHaveLength(after.length + 1);
    reads.at(-1)?.resolve(recordWith('approved'));
    await settled();
    expect(changed).toHaveLength(after.length + 1);
    await watch.stop();
  });
});
