import { expect, test } from 'vitest';
import type { NatsConnection } from '@nats-io/transport-node';
import { type AggregateRecord, foldRecord } from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';
import { watchRecords } from './record-watch.ts';

const quiet: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => quiet,
};

/** Whoever waits for a read is there once all promises have settled. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

test('of two readings of one cluster the younger one counts, however long the older one takes', async () => {
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
      read: () => {
        const read = Promise.withResolvers<AggregateRecord>();
        reads.push(read);
        return read.promise;
      },
    },
    logger: quiet,
    isNews: () => true,
    changed: (clusterId) => changed.push(clusterId),
  });
  watch.open();
  const say = (id: string, type: string) =>
    heard.get(type)?.(null, {
      subject: `rollcall.events.cluster.${id}.${type}`,
      headers: { get: () => `${id}-${type}` },
    });
  say('c-1', 'denied');
  say('c-1', 'approved');
  say('c-2', 'approved');
  await settled();
  expect(reads).toHaveLength(2);
  reads[1]?.resolve(foldRecord({ kind: 'cluster', id: 'c-2' }, []));
  await settled();
  expect(changed).toEqual(['c-2']);
  reads[0]?.resolve(foldRecord({ kind: 'cluster', id: 'c-1' }, []));
  await settled();
  expect(changed).toEqual(['c-2', 'c-1']);
  expect(reads).toHaveLength(3);
  reads[2]?.resolve(foldRecord({ kind: 'cluster', id: 'c-1' }, []));
  await watch.stop();
});
