import { RollcallError } from '@rollcall/shared/errors';
import { createCa, createNkey, hubIdOf, type Nkey, signMessage } from '@rollcall/shared/trust';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Reply, decodeReply, decodeRequest, encodeReply, linkReplyKeys } from './index.ts';

const agent = createNkey('user');
const subject = `rollcall.request.${agent.publicKey}.join`;
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
    fc.string().map((text) => `rollcall.request.${text}`),
  );
  fc.assert(
    fc.property(anySubject, fc.uint8Array({ maxLength: 200 }), (where, data) => {
      expect(['REQUEST_INVALID', 'REQUEST_TOO_LARGE', 'PROOF_INVALID']).toContain(
        codeOf(() => decodeRequest(where, data)),
      );
    }),
  );
});

test('arbitrary signed JSON is refused with our own errors only', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(codeOf(() => decodeRequest(subject, bytes(signMessage(value, [agent]))))).toMatch(
        /^REQUEST_(INVALID|TOO_LARGE)$/,
      );
    }),
    { numRuns: 50 },
  );
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(['REQUEST_INVALID', 'REQUEST_TOO_LARGE', 'PROOF_INVALID']).toContain(
        codeOf(() => decodeRequest(subject, bytes(value))),
      );
    }),
  );
});

/** By the text that is signed: JSON.stringify would leave out what an attacker would not. */
function decodeText(signed: string): string {
  const { publicKey } = agent;
  try {
    decodeRequest(subject, bytes({ signed, signatures: { [publicKey]: agent.sign(signed) } }));
    return 'decoded';
  } catch (error) {
    if (!(error instanceof RollcallError)) throw error;
    return `${error.code}: ${error.message}`;
  }
}
const joinText = (body: object, more = '') =>
  JSON.stringify(aJoin({ body: { clusterId: 'id-1', clusterName: 'one', facts: {}, ...body } })).replace(
    '"clusterId":"id-1"',
    `"clusterId":"id-1"${more}`,
  );
/** Of control characters, which take six bytes in JSON. */
function labelsOfBytes(size: number): Record<string, string> {
  const all: Record<string, string> = {};
  for (let at = 0; JSON.stringify(all).length < size; at++) all[`${at}`] = '\u0001'.repeat(63);
  return all;
}
const labels = (count: number, value = 'x') =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`label-${at}`, value]));

test.each([
  { name: 'as many labels as there may be', text: joinText({ labels: labels(64) }), want: /^decoded/ },
  {
    name: 'labels that take more bytes than they have characters',
    text: joinText({ labels: labelsOfBytes(16_385) }),
    want: /^REQUEST_TOO_LARGE: .*16384 bytes of labels/s,
  },
  {
    name: 'a key of the member that is no base64',
    text: joinText({ member: { token: 'a.b.c', keys: [{ kid: 'k', kty: 'RSA', n: '\u0001', e: 'AQAB' }] } }),
    want: /^REQUEST_INVALID: .*n/s,
  },
  { name: 'a label more', text: joinText({ labels: labels(65) }), want: /^REQUEST_TOO_LARGE: .*64 labels/s },
  {
    name: 'a label value of 64 characters',
    text: joinText({ labels: { a: 'x'.repeat(64) } }),
    want: /^REQUEST_TOO_LARGE: .*63/s,
  },
  {
    name: '10,000 nested arrays',
    text: joinText({}, `,"x":${'['.repeat(10_000)}${']'.repeat(10_000)}`),
    want: /^REQUEST_TOO_LARGE: .*nests deeper/,
  },
  {
    name: '10,000 numbers',
    text: joinText({}, `,"x":[${'1,'.repeat(9999)}1]`),
    want: /^REQUEST_TOO_LARGE: .*more than 4000 parts/,
  },
  {
    name: 'a number beyond 2^53',
    text: joinText({ facts: { nodes: { total: 2 ** 53 + 2, ready: 0, schedulable: 0 } } }),
    want: /^REQUEST_INVALID: .*beyond 2\^53 at "total"/,
  },
  {
    name: 'a number without end',
    text: joinText({}, ',"x":1e999'),
    want: /^REQUEST_INVALID: .*2\^53 at "x"/,
  },
  {
    name: 'a key that would be a prototype',
    text: joinText({}, ',"__proto__":{"polluted":true}'),
    want: /^REQUEST_INVALID: .*__proto__/,
  },
  {
    name: 'the same, as a label',
    text: joinText({}, ',"labels":{"__proto__":"x"}'),
    want: /^REQUEST_INVALID: .*__proto__/,
  },
  {
    name: 'more than the server lets through',
    text: joinText({}, `,"x":"${'x'.repeat(66_000)}"`),
    want: /^REQUEST_TOO_LARGE: .*65536 bytes/,
  },
  { name: 'brackets in a string', text: joinText({ labels: { a: '[{'.repeat(20) } }), want: /^decoded/ },
])('$name is refused with its own reason or taken: $want', ({ text, want }) => {
  expect(decodeText(text)).toMatch(want);
});

const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
test.each([
  { name: 'a join', request: aJoin(), want: 'decoded' },
  { name: 'a join with a trace', request: aJoin({ traceparent }), want: 'decoded' },
  {
    name: 'a trace that is a header too many',
    request: aJoin({ traceparent: `${traceparent}\r\nx: y` }),
    want: 'REQUEST_INVALID',
  },
  { name: 'an id that is no id', request: aJoin({ id: 'a\nb-1234567' }), want: 'REQUEST_INVALID' },
  {
    name: 'another verb than its subject',
    request: aJoin({ verb: 'renew', body: { clusterId: 'id-1' } }),
    want: 'REQUEST_INVALID',
  },
  { name: 'an unknown verb', request: aJoin({ verb: 'format' }), want: 'REQUEST_INVALID' },
  { name: 'a newer version', request: aJoin({ v: 2 }), want: 'REQUEST_INVALID' },
  { name: 'a field too many', request: aJoin({ admin: true }), want: 'REQUEST_INVALID' },
  {
    name: 'a field too many beside the facts',
    request: aJoin({ body: { clusterId: 'id-1', clusterName: 'one', facts: {}, admin: true } }),
    want: 'REQUEST_INVALID',
  },
])('$name → $want', ({ request, want }) => {
  expect(codeOf(() => decodeRequest(subject, bytes(signMessage(request, [agent]))))).toBe(want);
});

test.each([
  { name: 'a field', facts: { platform: 'linux/arm64', weather: 'rain' } },
  { name: 'a field that nests', facts: { platform: 'linux/arm64', sky: { clouds: [{ size: 1 }] } } },
])('of facts that have $name of a newer version the others are taken, and it is told', ({ facts }) => {
  const body = { clusterId: 'id-1', clusterName: 'one', facts };
  const received = decodeRequest(subject, bytes(signMessage(aJoin({ body }), [agent])));
  expect(received.request.body).toHaveProperty('facts', { platform: 'linux/arm64' });
  expect(received.hasUnknownFacts).toBe(true);
});

test('facts that are all known are all taken, and nodes and claims lose what is new in them', () => {
  const nodes = { total: 3, ready: 3, schedulable: 3 };
  const body = { clusterId: 'id-1', clusterName: 'one', facts: { nodes: { ...nodes, drained: 1 } } };
  const received = decodeRequest(subject, bytes(signMessage(aJoin({ body }), [agent])));
  expect(received.request.body).toHaveProperty('facts', { nodes });
  expect(received.hasUnknownFacts).toBe(false);
});

test.each([
  { name: 'another key than that of the subject', signers: [createNkey('user')] },
  { name: 'nobody', signers: [] },
])('a message signed by $name is refused', ({ signers }) => {
  expect(codeOf(() => decodeRequest(subject, bytes(signMessage(aJoin(), signers))))).toBe('PROOF_INVALID');
});

const replyKey = createNkey('account');
const expected = {
  agentKey: agent.publicKey,
  replyKeyIsTrusted: (key: string) => hubIdOf(key) === hubIdOf(replyKey.publicKey),
};
const aReply: Reply = {
  v: 1,
  hub: 'hub',
  to: agent.publicKey,
  inReplyTo: 'x',
  atMs: 1,
  result: { kind: 'done' },
};

test('an agent believes only what its hub signed for it', () => {
  expect(decodeReply(encodeReply(aReply, replyKey), expected)?.reply).toEqual(aReply);
  expect(decodeReply(encodeReply(aReply, createNkey('account')), expected)).toBeUndefined();
  expect(decodeReply(encodeReply({ ...aReply, to: 'other' }, replyKey), expected)).toBeUndefined();
  const { signed, signatures } = signMessage(aReply, [replyKey]);
  const changed = { signed: signed.replace('"x"', '"y"'), signatures };
  expect(decodeReply(bytes(changed), expected)).toBeUndefined();
});

const successors = [createNkey('account'), createNkey('account')] as const;
const aCa = () => createCa({ commonName: 'CA', validForDays: 1, nowMs: Date.now() });
const [ca, anotherCa] = [aCa(), aCa()];
const linkOf = (by: Nkey, nextReplyKey: string, { hub = 'hub', caKeyPem = ca.privateKeyPem } = {}) =>
  linkReplyKeys({ hub, replyKey: by, nextReplyKey, atMs: 1 }, caKeyPem);
const wholeChain = [
  linkOf(replyKey, successors[0].publicKey),
  linkOf(successors[0], successors[1].publicKey),
];

test.each([
  { name: 'the first key, which it knows', by: replyKey, chain: wholeChain, believed: true },
  { name: 'its successor', by: successors[0], chain: wholeChain.slice(0, 1), believed: true },
  { name: 'a successor of a successor', by: successors[1], chain: wholeChain, believed: true },
  { name: 'a successor without the link', by: successors[0], chain: [], believed: false },
  { name: 'a successor with a link missing', by: successors[1], chain: wholeChain.slice(1), believed: false },
  {
    name: 'a key that names itself',
    by: successors[0],
    chain: [linkOf(successors[0], successors[0].publicKey)],
    believed: false,
  },
  {
    name: 'a successor for another hub',
    by: successors[0],
    chain: [linkOf(replyKey, successors[0].publicKey, { hub: 'other' })],
    believed: false,
  },
  {
    name: 'a successor that the CA has not signed',
    by: successors[0],
    chain: [signMessage({ v: 1, hub: 'hub', nextReplyKey: successors[0].publicKey, atMs: 1 }, [replyKey])],
    believed: false,
  },
  {
    name: 'a successor that another CA has signed',
    by: successors[0],
    chain: [linkOf(replyKey, successors[0].publicKey, { caKeyPem: anotherCa.privateKeyPem })],
    believed: false,
  },
  {
    name: 'a successor by a link whose CA signature is of the one before',
    by: successors[1],
    chain: [
      ...wholeChain.slice(0, 1),
      { ...linkOf(successors[0], successors[1].publicKey), caSignature: wholeChain[0]?.caSignature },
    ],
    believed: false,
  },
])('a reply signed by $name is believed: $believed', ({ by, chain, believed }) => {
  const data = encodeReply(aReply, by, chain);
  const heard = decodeReply(data, { ...expected, caPem: aCa().certificatePem + ca.certificatePem });
  expect(heard?.replyKey).toBe(believed ? by.publicKey : undefined);
});

test('an agent ignores whatever else is said, without an error', () => {
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue().map(bytes), fc.uint8Array()), (data) => {
      expect(decodeReply(data, expected)).toBeUndefined();
    }),
  );
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(decodeReply(bytes(signMessage(value, [replyKey])), expected)).toBeUndefined();
    }),
    { numRuns: 30 },
  );
});

test.each([
  { verb: 'leave', body: { clusterId: 'id-1', done: false } },
  { verb: 'rotate', body: { clusterId: 'id-1', newKey: createNkey('user').publicKey } },
])('$verb is kept as it was signed, so it is short, however it is padded', ({ verb, body }) => {
  const { publicKey } = agent;
  const plain = JSON.stringify({ ...aJoin(), verb, body });
  const decode = (signed: string) =>
    codeOf(() =>
      decodeRequest(
        `rollcall.request.${publicKey}.${verb}`,
        bytes({ signed, signatures: { [publicKey]: agent.sign(signed) } }),
      ),
    );
  expect(decode(plain)).toBe('decoded');
  expect(decode(plain + ' '.repeat(2000))).toBe('REQUEST_TOO_LARGE');
});
