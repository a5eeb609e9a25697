import { type Msg, type MsgHdrs } from '@nats-io/transport-node';
import { expect, test } from 'vitest';
import { idStart, subjectBytes } from './beat-subject.ts';

const message = (more: object): Msg =>
  ({ subject: 'rollcall.beat.c1', headers: undefined as MsgHdrs | undefined, ...more }) as Msg;
const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1');

test.each([
  { name: 'as the library keeps them', it: message({ _msg: { subject: Buffer.from('rollcall.beat.c1') } }) },
  { name: 'encoded again where it does not', it: message({}) },
])('the bytes of a subject, $name', ({ it }) => {
  expect(textOf(subjectBytes(it))).toBe('rollcall.beat.c1');
});

test.each([
  ['rollcall.beat.c1', 'c1'],
  ['rollcall.beatp.3.c1', 'c1'],
  ['rollcall.beat.', ''],
])('the id in %s is %s', (subject, want) => {
  const bytes = Buffer.from(subject);
  expect(textOf(bytes.subarray(idStart(bytes)))).toBe(want);
});
