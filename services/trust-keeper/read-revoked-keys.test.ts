import { expect, test } from 'vitest';
import { RollcallError } from '@rollcall/shared/errors';
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
    say(type: 'approved' | 'revoked', id: string, keys: readonly string[], timeMs = startMs) {
      events.push({
        kind: 'cluster',
        id,
        type,
        definition: type === 'approved' ? approved : revoked,
        epoch: 1,
        sequence: events.length + 1,
        timeMs,
        section: { revokedKeys: keys.map((key) => ({ key, atMs: timeMs })) },
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
        onSkip?: (error: RollcallError) => void;
      }) {
        reads.push(`${filter} from ${fromSequence}`);
        const found = events.filter(
          ({ type, sequence }) => filter === `cluster.*.${type}` && sequence >= fromSequence,
        );
        onRead(filter);
        if (unreadable) onSkip?.(unreadable);
        yield* found;
      },
    },
  };
}

function reading() {
  const stream = aStream();
  let nowMs = startMs;
  const reader = createRevokedKeysReader(stream.log, { longestLifeMs, nowMs: () => nowMs });
  const keys = async () =>
    (await reader.read()).flatMap(({ revokedKeys }) => revokedKeys.map(({ key }) => key));
  return { stream, reader, keys, at: (ms: number) => (nowMs = ms) };
}

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
  expect(await reader.hasTakenBack('c1')).toBe(true);
  expect(await reader.hasTakenBack('c3')).toBe(false);
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

test('nothing is made of a stream that a newer version has written to', async () => {
  const { stream, keys } = reading();
  stream.breakOn(new RollcallError('EVENT_VERSION_UNKNOWN', 'version 2'));
  await expect(keys()).rejects.toMatchObject({ code: 'EVENT_VERSION_UNKNOWN' });
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
