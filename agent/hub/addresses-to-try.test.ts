import { expect, test } from 'vitest';
import { addressesToTry, toldAddresses } from './addresses-to-try.ts';
import { formatHubAddress, parseHubAddress } from './hub-address.ts';

const tried = (given: readonly string[], told: readonly string[], reached: readonly string[]) =>
  addressesToTry(
    given.map(parseHubAddress),
    told.map(parseHubAddress),
    reached.map((text) => formatHubAddress(parseHubAddress(text))),
  ).map((group) => group.map(formatHubAddress));

test.each([
  { name: 'nothing was told', given: ['a:1'], told: [], want: [[], ['a:1'], []] },
  {
    name: 'a new address beside the old one',
    given: ['a:1'],
    told: ['a:1', 'b:1'],
    want: [['a:1', 'b:1'], [], []],
  },
  { name: 'the old one has gone', given: ['a:1'], told: ['b:1'], want: [['b:1'], ['a:1'], []] },
  {
    name: 'one where nobody has found the hub yet',
    given: ['a:1', 'b:1'],
    told: ['a:1', 'c:1', 'd:1'],
    reached: ['d:1'],
    want: [['d:1'], ['a:1', 'b:1'], ['c:1']],
  },
  {
    name: 'a network that may let out WebSocket only',
    given: ['wss://a'],
    told: ['a:4222', 'wss://b'],
    want: [['wss://b:443'], ['wss://a:443'], ['a:4222']],
  },
])('what is tried, and in which order: $name', ({ given, told, reached = told, want }) => {
  expect(tried(given, told, reached)).toEqual(want);
});

test.each([
  { name: 'no list', texts: 'a:1' },
  { name: 'an empty one', texts: [] },
  { name: 'too many', texts: Array.from({ length: 17 }, (_, index) => `a:${index + 1}`) },
  { name: 'something else', texts: ['a:1', 7] },
  { name: 'no address', texts: ['https://a/'] },
  { name: 'a long one', texts: ['a'.repeat(301)] },
])('what is told is not believed: $name', ({ texts }) => {
  expect(toldAddresses(texts)).toBeUndefined();
});
