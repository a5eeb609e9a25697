import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { firstTypes, isListedKind, type StoredEvent } from '@rollcall/shared/events';
import { readRecorded } from './recorded-stream.ts';
import { replayDifferences } from './replay.ts';

const directory = new URL('recorded/', import.meta.url);
const releases = readdirSync(directory).filter((name) => name.endsWith('.jsonl'));

test('there is a recorded stream', () => {
  expect(releases).not.toEqual([]);
});

test.each(releases)('today the same follows from %s as when it was recorded', (name) => {
  expect(replayDifferences(readRecorded(new URL(name, directory)))).toEqual([]);
});

test.each(releases)('the chain of %s is unbroken', (name) => {
  const last = new Map<string, StoredEvent>();
  for (const event of readRecorded(new URL(name, directory))) {
    const before = last.get(`${event.kind}.${event.id}`);
    expect(event.previous?.digest, `event ${event.sequence}`).toBe(before?.digest);
    last.set(`${event.kind}.${event.id}`, event);
  }
});

test.each(releases)('everything in %s begins as what is listed does', (name) => {
  const first = new Map<string, StoredEvent>();
  for (const event of readRecorded(new URL(name, directory)))
    if (!first.has(`${event.kind}.${event.id}`)) first.set(`${event.kind}.${event.id}`, event);
  const isListed = ({ kind, type }: StoredEvent) =>
    !isListedKind(kind) || firstTypes[kind].some((one) => one === type);
  expect([...first.values()].filter((event) => !isListed(event))).toEqual([]);
});

test('a decision that would be another one today is noticed', () => {
  const events = readRecorded(new URL(releases[0] ?? '', directory));
  const changed = events.map((event) =>
    event.type === 'admitted'
      ? { ...event, section: { ...(event.section as object), admittedKey: 'U' } }
      : event,
  );
  expect(replayDifferences(changed)).not.toEqual([]);
});
