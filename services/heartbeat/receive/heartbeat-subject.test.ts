import { type Msg, type MsgHdrs } from '@nats-io/transport-node';
import { expect, test } from 'vitest';
import { idStart, subjectBytes } from './heartbeat-subject.ts';

const message = (more: object): Msg =>
  ({ subject: 'rollcall.heartbeat.c1', headers: undefined as MsgHdrs | undefined, ...more }) as Msg;
const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1');

test.each([
  {
    name: 'as the library keeps them',
    it: message({ _msg: { subject: Buffer.from('rollcall.heartbeat.c1') } }),
  },
  { name: 'encoded again where it does not', it: message({}) },
])('the bytes of a subject, $name', ({ it }) => {
  expect(textOf(subjectBytes(it))).toBe('rollcall.heartbeat.c1');
});

test.each([
  ['rollcall.heartbeat.c1', 'c1'],
  ['rollcall.heartbeat-partition.3.c1', 'c1'],
  ['rollcall.heartbeat.', ''],
])('the id in %s is %s', (subject, want) => {
  const bytes = Buffer.from(subject);
  expect(textOf(bytes.subarray(idStart(bytes)))).toBe(want);
});
