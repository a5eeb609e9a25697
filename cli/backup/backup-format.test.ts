import { expect, test } from 'vitest';
import { parseLine } from './backup-format.ts';

const line = (stream: string, subject: string) =>
  JSON.stringify({ stream, sequence: 1, subject, timeMs: 0, headers: {}, text: '' });

test.each([
  ['EVENTS', 'rollcall.events.cluster.c-1.approved'],
  ['FACTS', 'rollcall.facts.c-1'],
  ['DEAD', 'rollcall.dead.approver.7'],
  ['DEAD', 'rollcall.held.approver.7'],
])('%s has what is said on %s', (stream, subject) => {
  expect(parseLine(line(stream, subject), 2)).toMatchObject({ stream, subject });
});

test.each([
  ['EVENTS', 'rollcall.facts.c-1'],
  ['EVENTS', 'rollcall.events.cluster.c 1.approved'],
  ['EVENTS', 'rollcall.events.cluster.c\r\n1.approved'],
  ['FACTS', 'rollcall.events.cluster.c-1.approved'],
  ['DEAD', '$JS.API.STREAM.DELETE.EVENTS'],
])('%s has nothing that is said on %j: no stream would take it', (stream, subject) => {
  expect(() => parseLine(line(stream, subject), 2)).toThrow(
    expect.objectContaining({ code: 'BACKUP_INVALID' }),
  );
});
