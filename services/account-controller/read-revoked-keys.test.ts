import { expect, test } from 'vitest';
import { RollcallError } from '@rollcall/shared/errors';
import type { SkippedEvent } from '@rollcall/shared/bus';
import { approved, revoked, type StoredEvent } from '@rollcall/shared/events';
import { createRevokedKeysReader } from './read-revoked-keys.ts';

const longestLifeMs = 1000;
const startMs = 5000;

/** A stream in memory; what is said while a filter is being read is there for the next one. */
function aStream() {
  const events: StoredEvent[] = [];
  const reads: string[] = [];
  let onRead: (filter: string) => void = () => undefined;
  let unreadable: RollcallError | undefined;
  return {
    reads,
    say(
      type: 'approved' | 'revoked',
      id: string,
      keys: readonly string[],
      more: { timeMs?: number; approvedKey?: string } = {},
    ) {
      const { timeMs = startMs, approvedKey } = more;
      events.push({
        kind: 'cluster',
        id,
        type,
        definition: type === 'approved' ? approved : revoked,
        epoch: 1,
        sequence: events.length + 1,
        timeMs,
        section: { approvedKey, revokedKeys: keys.map((key) => ({ key, atMs: timeMs })) },
      } as unknown as StoredEvent);
    },
    meanwhile(act: (filter: string) => void) {
      onRead = act;
    },
    breakOn(error: RollcallError) {
      unreadable = error;
    },
    log: {
      async *scan({
        filter = '>',
        fromSequence = 1,
        onSkip,
      }: {
        filter?: string;
        fromSequence?: number;
        onSkip?: (error: RollcallError, event: SkippedEvent) => void;
      }) {
        reads.push(`${filter} from ${fromSequence}`);
        const found = events.filter(
          ({ type, sequence }) => filter === `cluster.*.${type}` && sequence >= fromSequence,
        );
        onRead(filter);
        if (unreadable) onSkip?.(unreadable, { kind: 'cluster', id: 'newer', type: 'revoked', sequence: 7 });
        yield* found;
      },
    },
  };
}

function reading() {
  const stream = aStream();
  let nowMs = startMs;
  const skipped: number[] = [];
  const reader = createRevokedKeysReader(stream.log, {
    longestLifeMs,
    nowMs: () => nowMs,
    skipped: (_error, { sequence }) => void skipped.push(sequence),
  });
  const keys = async () =>
    (await reader.read()).takenBack.flatMap(({ revokedKeys }) => revokedKeys.map(({ key }) => key));
  return { stream, reader, keys, skipped, at: (ms: number) => (nowMs = ms) };
}

const approvalOf = (id: string, approvedKey: string) =>
  ({ id, section: { approvedKey } }) as unknown as StoredEvent;

test('a key on the list that no event took back is given back by an approval of that key alone', async () => {
  const { stream, reader } = reading();
  stream.say('approved', 'c1', [], { approvedKey: 'K1' });
  stream.say('approved', 'c2', [], { approvedKey: 'K2', timeMs: startMs + 1 });
  expect([...(await reader.read(['K2', 'K3'])).givenBack]).toEqual([['K2', startMs + 1]]);
  expect(await reader.mayGiveBack(approvalOf('c3', 'K3'))).toBe(true);
  stream.say('approved', 'c3', [], { approvedKey: 'K3' });
  stream.say('approved', 'c4', [], { approvedKey: 'K4' });
  stream.reads.length = 0;
  expect([...(await reader.read(['K2', 'K3'])).givenBack.keys()]).toEqual(['K2', 'K3']);
  expect(stream.reads).toEqual(['cluster.*.approved from 3', 'cluster.*.revoked from 1']);
});

test('without a revocation no approval is read', async () => {
  const { stream, keys } = reading();
  stream.say('approved', 'c1', []);
  expect(await keys()).toEqual([]);
  expect(stream.reads).toEqual(['cluster.*.revoked from 1']);
});

test('what comes later is added, what is approved again is taken off, and nothing is read twice', async () => {
  const { stream, keys, reader } = reading();
  stream.say('revoked', 'c1', ['K1']);
  expect(await keys()).toEqual(['K1']);
  stream.say('revoked', 'c2', ['K2']);
  stream.say('approved', 'c1', []);
  expect(await keys()).toEqual(['K2']);
  expect(await reader.mayGiveBack(approvalOf('c1', 'K9'))).toBe(true);
  expect(await reader.mayGiveBack(approvalOf('c3', 'K9'))).toBe(false);
  expect([...(await reader.read(['K1', 'K2'])).givenBack]).toEqual([['K1', Number.POSITIVE_INFINITY]]);
  stream.reads.length = 0;
  await keys();
  expect(stream.reads).toEqual(['cluster.*.approved from 4', 'cluster.*.revoked from 3']);
});

test('an approval that was there when the revocation was first seen counts', async () => {
  const { stream, keys } = reading();
  stream.say('revoked', 'c1', ['K1']);
  stream.say('approved', 'c1', []);
  expect(await keys()).toEqual([]);
});

test.each(['cluster.*.approved', 'cluster.*.revoked'])(
  'a key that is revoked and approved while %s is read does not stay on the list',
  async (during) => {
    const { stream, keys } = reading();
    stream.say('revoked', 'c0', ['K0']);
    await keys();
    stream.meanwhile((filter) => {
      if (filter !== during) return;
      stream.meanwhile(() => undefined);
      stream.say('revoked', 'c1', ['K1']);
      stream.say('approved', 'c1', []);
    });
    await keys();
    expect(await keys()).toEqual(['K0']);
  },
);

test('what was taken back longer ago than any credential lives is forgotten', async () => {
  const { stream, keys, at } = reading();
  stream.say('revoked', 'c1', ['K1']);
  at(startMs + longestLifeMs);
  expect(await keys()).toEqual(['K1']);
  at(startMs + longestLifeMs + 1);
  expect(await keys()).toEqual([]);
});

test('what a newer version has written about one cluster stops nobody else, and is told once', async () => {
  const { stream, keys, skipped } = reading();
  stream.say('revoked', 'c1', ['K1']);
  stream.breakOn(new RollcallError('EVENT_VERSION_UNKNOWN', 'version 2'));
  expect(await keys()).toEqual(['K1']);
  stream.say('revoked', 'c2', ['K2']);
  expect(await keys()).toEqual(['K1', 'K2']);
  expect(skipped).toEqual([7]);
});

test('an approval that was read just before the stream failed is read again', async () => {
  const { stream, keys } = reading();
  stream.say('revoked', 'c1', ['K1']);
  expect(await keys()).toEqual(['K1']);
  stream.say('approved', 'c1', []);
  stream.meanwhile((filter) => {
    if (filter.endsWith('revoked')) throw new RollcallError('BUS_UNREACHABLE', 'no answer');
  });
  await expect(keys()).rejects.toThrow('no answer');
  stream.meanwhile(() => undefined);
  expect(await keys()).toEqual([]);
});
