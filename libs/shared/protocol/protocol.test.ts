import { RollcallError } from '@rollcall/shared/errors';
import { createNkey, hubIdOf, signMessage } from '@rollcall/shared/trust';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Answer, decodeAnswer, decodeAsk, encodeAnswer } from './index.ts';

const agent = createNkey('user');
const subject = `rollcall.ask.${agent.publicKey}.join`;
const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const aJoin = (overrides: object = {}) => ({
  v: 1,
  hub: 'hub',
  verb: 'join',
  id: 'ask-00000001',
  atMs: 1,
  body: { clusterId: 'id-1', clusterName: 'one', facts: {} },
  ...overrides,
});

function codeOf(decode: () => unknown): string {
  try {
    decode();
    return 'decoded';
  } catch (error) {
    if (!(error instanceof RollcallError)) throw error;
    return error.code;
  }
}

test('arbitrary bytes on arbitrary subjects are refused with our own errors only', () => {
  const anySubject = fc.oneof(
    fc.constant(subject),
    fc.string(),
    fc.string().map((text) => `rollcall.ask.${text}`),
  );
  fc.assert(
    fc.property(anySubject, fc.uint8Array({ maxLength: 200 }), (where, data) => {
      expect(['ASK_INVALID', 'PROOF_INVALID']).toContain(codeOf(() => decodeAsk(where, data)));
    }),
  );
});

test('arbitrary signed JSON is refused with our own errors only', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(codeOf(() => decodeAsk(subject, bytes(signMessage(value, [agent]))))).toBe('ASK_INVALID');
    }),
    { numRuns: 50 },
  );
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(['ASK_INVALID', 'PROOF_INVALID']).toContain(codeOf(() => decodeAsk(subject, bytes(value))));
    }),
  );
});

const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
test.each([
  { name: 'a join', ask: aJoin(), want: 'decoded' },
  { name: 'a join with a trace', ask: aJoin({ traceparent }), want: 'decoded' },
  {
    name: 'a trace that is a header too many',
    ask: aJoin({ traceparent: `${traceparent}\r\nx: y` }),
    want: 'ASK_INVALID',
  },
  { name: 'an id that is no id', ask: aJoin({ id: 'a\nb-1234567' }), want: 'ASK_INVALID' },
  {
    name: 'another verb than its subject',
    ask: aJoin({ verb: 'renew', body: { clusterId: 'id-1' } }),
    want: 'ASK_INVALID',
  },
  { name: 'an unknown verb', ask: aJoin({ verb: 'format' }), want: 'ASK_INVALID' },
  { name: 'a newer version', ask: aJoin({ v: 2 }), want: 'ASK_INVALID' },
  { name: 'a field too many', ask: aJoin({ admin: true }), want: 'ASK_INVALID' },
])('$name → $want', ({ ask, want }) => {
  expect(codeOf(() => decodeAsk(subject, bytes(signMessage(ask, [agent]))))).toBe(want);
});

test.each([
  { name: 'another key than that of the subject', signers: [createNkey('user')] },
  { name: 'nobody', signers: [] },
])('a message signed by $name is refused', ({ signers }) => {
  expect(codeOf(() => decodeAsk(subject, bytes(signMessage(aJoin(), signers))))).toBe('PROOF_INVALID');
});

const answerKey = createNkey('account');
const expected = {
  agentKey: agent.publicKey,
  answerKeyIsTrusted: (key: string) => hubIdOf(key) === hubIdOf(answerKey.publicKey),
};
const anAnswer: Answer = {
  v: 1,
  hub: 'hub',
  to: agent.publicKey,
  inReplyTo: 'x',
  atMs: 1,
  result: { kind: 'done' },
};

test('an agent believes only what its hub signed for it', () => {
  expect(decodeAnswer(encodeAnswer(anAnswer, answerKey), expected)?.answer).toEqual(anAnswer);
  expect(decodeAnswer(encodeAnswer(anAnswer, createNkey('account')), expected)).toBeUndefined();
  expect(decodeAnswer(encodeAnswer({ ...anAnswer, to: 'other' }, answerKey), expected)).toBeUndefined();
  const { signed, signatures } = signMessage(anAnswer, [answerKey]);
  const changed = { signed: signed.replace('"x"', '"y"'), signatures };
  expect(decodeAnswer(bytes(changed), expected)).toBeUndefined();
});

test('an agent ignores whatever else is said, without an error', () => {
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue().map(bytes), fc.uint8Array()), (data) => {
      expect(decodeAnswer(data, expected)).toBeUndefined();
    }),
  );
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(decodeAnswer(bytes(signMessage(value, [answerKey])), expected)).toBeUndefined();
    }),
    { numRuns: 30 },
  );
});
