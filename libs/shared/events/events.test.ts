import { createHash } from 'node:crypto';
import { RollcallError } from '@rollcall/shared/errors';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  aggregateSubjects,
  clusterIdOf,
  decodeEvent,
  draft,
  type EncodedEvent,
  encodeEvent,
  eventCatalogue,
  eventTypeName,
  eventWriters,
  foldRecord,
  identitySchema,
  isSafeId,
  nameReleased,
  nameTaken,
  parseEventSubject,
  setDeclared,
  type StoredEvent,
} from './index.ts';
import { anIdentity } from '../../../tests/harness/events.ts';
import type { Stamp } from './envelope.ts';

const aName = (overrides: object = {}) => ({ name: 'one', clusterId: 'id-1', free: false, ...overrides });
const on = (id: string, head?: { epoch: number; sequence: number; digest: string }) => ({
  aggregate: { kind: 'name' as const, id },
  head,
});
const aDraft = (id = 'one', message = 'm') =>
  draft(nameTaken, on(id), { reason: 'Taken', message, section: aName() });
const aStamp: Stamp = {
  epoch: 1,
  source: '/rollcall/registrar',
  nowMs: 1_700_000_000_000,
  correlation: 'ask-1',
};

const stored = (event: EncodedEvent, sequence: number, overrides: Partial<EncodedEvent> = {}) => {
  const { subject, headers, body } = { ...event, ...overrides };
  return decodeEvent({ subject, sequence, header: (name) => headers[name] ?? '', data: body });
};

function codeOf(work: () => unknown): string {
  try {
    work();
    return 'fine';
  } catch (error) {
    if (!(error instanceof RollcallError)) throw error;
    return error.code;
  }
}

test('every event has a type of its own, a writer and a description, and only one writer', () => {
  expect(new Set(eventCatalogue.map(eventTypeName)).size).toBe(eventCatalogue.length);
  for (const { writer, description, type } of eventCatalogue) {
    expect(eventWriters).toContain(writer);
    expect(description).toMatch(/^[A-Z].{10,}[.]$/s);
    expect(type).toMatch(/^[a-z][a-z-]*$/);
  }
});

test('what is written is what is read', () => {
  const text = fc.string({ maxLength: 200 });
  fc.assert(
    fc.property(
      text,
      fc.stringMatching(/^[a-z0-9]{1,20}$/),
      fc.nat(),
      fc.boolean(),
      (message, id, sequence, free) => {
        const section = aName({ name: id, free, later: { unknown: message } });
        const written = draft(nameTaken, on(id), {
          by: { person: message },
          reason: 'Taken',
          message,
          section,
        });
        const read = stored(encodeEvent(written, aStamp), sequence + 1);
        expect(read).toMatchObject({ kind: 'name', id, type: 'taken', sequence: sequence + 1, epoch: 1 });
        expect(read).toMatchObject({
          correlation: 'ask-1',
          reason: 'Taken',
          by: { person: message },
          section,
        });
        expect(read.message).toBe(message.slice(0, 1024));
        expect(read.timeMs).toBe(aStamp.nowMs);
      },
    ),
  );
});

test('an event names the sequence and the digest of the one before it', () => {
  const first = stored(encodeEvent(aDraft(), aStamp), 7);
  const second = encodeEvent({ ...aDraft(), head: first }, aStamp);
  expect(second.expectedSequence).toBe(7);
  expect(stored(second, 9).previous).toEqual({ sequence: 7, digest: first.digest });
  expect(first.previous).toBeUndefined();
});

test('a changed body, id or subject changes the digest', () => {
  const event = encodeEvent(aDraft(), aStamp);
  const other = encodeEvent(aDraft('one', 'n'), aStamp);
  const digest = stored(event, 1).digest;
  const headers = { ...event.headers, 'ce-id': 'x' };
  const subject = event.subject.replace('.one.', '.two.');
  const changed = [
    stored(event, 1, { body: other.body }),
    stored(event, 1, { headers }),
    stored(event, 1, { subject }),
  ];
  for (const read of changed) expect(read.digest).not.toBe(digest);
  expect(stored(event, 2).digest).toBe(digest);
  expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
});

const good = encodeEvent(aDraft(), aStamp);
const withType = (type: string) => ({ headers: { ...good.headers, 'ce-type': type } });
test.each([
  {
    name: 'a later version of a known type',
    change: withType('dev.rollcall.name.taken.v2'),
    want: 'EVENT_VERSION_UNKNOWN',
  },
  {
    name: 'a type that only a newer version has',
    change: { subject: 'rollcall.events.name.one.lent', ...withType('dev.rollcall.name.lent.v1') },
    want: 'EVENT_VERSION_UNKNOWN',
  },
  {
    name: 'a kind that only a newer version has',
    change: { subject: 'rollcall.events.site.one.opened', ...withType('dev.rollcall.site.opened.v1') },
    want: 'EVENT_VERSION_UNKNOWN',
  },
  {
    name: 'a type of another subject',
    change: withType('dev.rollcall.name.released.v1'),
    want: 'EVENT_INVALID',
  },
  { name: 'a type nobody knows', change: withType('dev.example.x.v1'), want: 'EVENT_INVALID' },
  { name: 'no type', change: withType(''), want: 'EVENT_INVALID' },
  { name: 'no time', change: { headers: { ...good.headers, 'ce-time': 'soon' } }, want: 'EVENT_INVALID' },
  { name: 'no event subject', change: { subject: 'rollcall.facts.x' }, want: 'EVENT_INVALID' },
  { name: 'a subject too long', change: { subject: `${good.subject}.x` }, want: 'EVENT_INVALID' },
  { name: 'no JSON', change: { body: new Uint8Array([0xff, 0x00]) }, want: 'EVENT_INVALID' },
  { name: 'no body', change: { body: new Uint8Array() }, want: 'EVENT_INVALID' },
  { name: 'nothing wrong', change: {}, want: 'fine' },
])('$name → $want', ({ change, want }) => {
  expect(codeOf(() => stored(good, 1, change))).toBe(want);
});

test('the section of one kind is not read as that of another with the same type', () => {
  const body = encodeEvent(
    draft(
      setDeclared,
      { aggregate: { kind: 'set', id: 'one' }, head: undefined },
      {
        reason: 'Declared',
        message: 'm',
        section: { name: 'one', uid: 'u', generation: 1, selectorType: 'ExclusiveLabel', withdrawn: false },
      },
    ),
    aStamp,
  );
  const subject = 'rollcall.events.token.one.declared';
  expect(codeOf(() => stored(body, 1, { subject }))).toBe('EVENT_INVALID');
});

test('whatever bytes and headers come, only our own errors are thrown', () => {
  const header = fc.oneof(fc.string(), fc.constantFrom(...eventCatalogue.map(eventTypeName)));
  const subject = fc.oneof(fc.string(), fc.constant(good.subject));
  const data = fc.oneof(
    fc.uint8Array(),
    fc.json().map((text) => new TextEncoder().encode(text)),
  );
  fc.assert(
    fc.property(subject, header, data, (where, text, bytes) => {
      const read = () => decodeEvent({ subject: where, sequence: 1, header: () => text, data: bytes });
      expect(['EVENT_INVALID', 'EVENT_VERSION_UNKNOWN']).toContain(codeOf(read));
    }),
  );
});

test('a section that does not fit is caught before it is history', () => {
  expect(codeOf(() => encodeEvent({ ...aDraft(), section: { name: 1 } }, aStamp))).toBe('EVENT_INVALID');
  expect(codeOf(() => encodeEvent({ ...aDraft(), reason: 'no reason' }, aStamp))).toBe('EVENT_INVALID');
});

test('a stolen registrar writes no name of a token and no client id that Kubernetes would show a terminal', () => {
  const identity = anIdentity();
  const isRead = (section: object) => identitySchema.safeParse(section).success;
  expect(isRead({ ...identity, clientId: 'caf\u00e9 *' })).toBe(true);
  for (const text of ['a\u001b[2J', 'a\nb', 'a\u009b31m', 'a\u202eb', 'a\u2028b']) {
    expect(isRead({ ...identity, clientId: text })).toBe(false);
    expect(isRead({ ...identity, request: { ...identity.request, tokenName: text } })).toBe(false);
  }
});

test('no unsafe id gets into a subject, and every safe one comes out of it as it was', () => {
  const id = fc.oneof(fc.string(), fc.stringMatching(/^[a-z0-9.*>-]{0,70}$/));
  fc.assert(
    fc.property(id, (text) => {
      const aggregate = { kind: 'cluster', id: text } as const;
      expect(codeOf(() => aggregateSubjects(aggregate))).toBe(isSafeId(text) ? 'fine' : 'CLUSTER_ID_INVALID');
    }),
  );
  fc.assert(
    fc.property(id.filter(isSafeId), (text) => {
      const { subject, filter } = aggregateSubjects({ kind: 'cluster', id: text }, 'ready');
      expect(parseEventSubject(subject)).toEqual({ kind: 'cluster', id: text, type: 'ready' });
      expect(filter).toBe(`rollcall.events.cluster.${text}.>`);
    }),
  );
  expect(['a'.repeat(63), '*', '>', 'a.b', 'a\n', 'A', '', '-a', 'a'.repeat(64)].map(isSafeId)).toEqual([
    true,
    ...Array<boolean>(8).fill(false),
  ]);
});

test('a client id becomes a safe id, and two never the same one', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (a, b) => {
      expect(isSafeId(clusterIdOf(a))).toBe(true);
      expect(clusterIdOf(a) === clusterIdOf(b)).toBe(a === b);
    }),
  );
  const forged = clusterIdOf('A B');
  expect(clusterIdOf(forged)).not.toBe(forged);
});

const history = (length: number): StoredEvent[] =>
  Array.from({ length }, (_, at) => {
    const event = stored(
      encodeEvent(at % 3 === 0 ? { ...aDraft(), definition: nameReleased } : aDraft(), {
        ...aStamp,
        epoch: 1 + Math.floor(at / 4),
      }),
      at + 1,
    );
    return event;
  });

test('a record does not depend on the order in which its events are read', () => {
  const aggregate = { kind: 'name', id: 'one' } as const;
  const inOrder = history(9);
  const want = foldRecord(aggregate, inOrder);
  expect(want.head?.sequence).toBe(9);
  fc.assert(
    fc.property(fc.shuffledSubarray(inOrder, { minLength: 9 }), (events) => {
      expect(foldRecord(aggregate, events)).toEqual(want);
    }),
  );
});

test('the head is the last message, whatever epoch a taken-over writer claims, and garbage counts too', () => {
  const aggregate = { kind: 'name', id: 'one' } as const;
  const liar = stored(encodeEvent(aDraft(), { ...aStamp, epoch: 999 }), 1);
  const honest = stored(encodeEvent({ ...aDraft(), definition: nameReleased }, aStamp), 2);
  expect(foldRecord(aggregate, [liar, honest]).head?.sequence).toBe(2);
  const digest = `sha256:${createHash('sha256').digest('hex')}`;
  const garbage = { epoch: 1, sequence: 3, digest };
  expect(foldRecord(aggregate, [liar, honest], garbage).head).toEqual(garbage);
  expect(foldRecord(aggregate, [], garbage)).toMatchObject({ head: garbage, newest: undefined });
});
