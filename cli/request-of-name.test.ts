import { expect, test } from 'vitest';
import { requestOfWord, wasRefusedUnjudged } from './request-of-name.ts';

const held = { result: 'Held' };
const failed = { result: 'Failed', reason: 'NamespaceTaken' };

test.each([
  { name: 'refused by the registrar', status: { result: 'Failed', reason: 'NameTaken' }, want: true },
  { name: 'let in, then failed', status: failed, want: false },
  {
    name: 'let in, then refused by Kubernetes',
    status: { result: 'Failed', reason: 'KubeApi' },
    want: false,
  },
  { name: 'held', status: held, want: false },
])('wasRefusedUnjudged: $name → $want', ({ status, want }) => {
  expect(wasRefusedUnjudged(status)).toBe(want);
});

const asked = (name: string, clusterName: string, result: string, reason = '') => ({
  metadata: { name },
  spec: { clusterName, keyFingerprint: `key-of-${name}` },
  status: { result, reason },
});
const refused = (name: string, clusterName = 'blue') => asked(name, clusterName, 'Failed', 'NameTaken');
const waits = (name: string, clusterName = 'blue') => asked(name, clusterName, 'Held');
const member = (name: string, clusterName = 'blue') => asked(name, clusterName, 'Approved');
const threatened = (name: string) => ({
  ...waits(name),
  spec: { ...waits(name).spec, knownKeyFingerprint: 'known' },
});

test.each([
  { what: 'one that waits beside refused ones', all: [refused('x'), waits('a'), refused('y')], want: 'a' },
  { what: 'one that is in beside a refused one', all: [member('a'), refused('x')], want: 'a' },
  { what: 'one that was refused, if no other asked', all: [refused('x')], want: 'x' },
  { what: 'one whose id is its name', all: [waits('blue'), refused('x')], want: 'blue' },
  { what: 'nobody', all: [waits('a', 'green')], want: undefined },
  {
    what: 'one that waits, beside the id of a refused one',
    all: [refused('blue', 'x'), waits('a')],
    want: 'a',
  },
  { what: 'a member, beside the id of a stranger', all: [waits('blue', 'free'), member('a')], want: 'a' },
  {
    what: 'a member whose key is asked for, beside the id of a stranger',
    all: [waits('blue', 'free'), threatened('a')],
    want: 'a',
  },
  {
    what: 'the id of a member, if who asked by it was refused',
    all: [refused('x'), member('blue', 'z')],
    want: 'blue',
  },
])('a word means $what', ({ all, want }) => {
  expect(requestOfWord(all, 'blue', 'rollcall deny')?.metadata.name).toBe(want);
});

test.each([
  { what: 'two that were refused', all: [refused('x'), refused('y')], ids: ['x', 'y'] },
  {
    what: 'who waits by that name, and the id of a stranger',
    all: [waits('blue', 'free'), waits('a')],
    ids: ['a', 'blue'],
  },
  {
    what: 'who waits by that name, and the id of a member',
    all: [member('blue', 'z'), waits('a')],
    ids: ['a', 'blue'],
  },
  {
    what: 'who was refused by that name, and the id of a stranger',
    all: [waits('blue', 'free'), refused('a')],
    ids: ['a', 'blue'],
  },
])('a word that could mean $what means none, and both commands are told', ({ all, ids }) => {
  const commands = ids.map((id) => `\`rollcall deny --id ${id}\` \\(cluster "\\w+", key key-of-${id}\\)`);
  expect(() => requestOfWord(all, 'blue', 'rollcall deny')).toThrow(new RegExp(commands.join(', or ')));
});

test('the id of a stranger is not taken for the name of a cluster that is not shown, unless it is a UUID', () => {
  const uid = '0b54dbf1-84b9-4b5f-a0de-b3f4ae1e7b1a';
  const all = [waits('blue', 'green'), waits(uid, 'red')];
  expect(requestOfWord(all, uid, 'rollcall deny')?.metadata.name).toBe(uid);
  expect(() => requestOfWord(all, 'blue', 'rollcall deny')).toThrow(/`rollcall deny --id blue` decides it/);
});
