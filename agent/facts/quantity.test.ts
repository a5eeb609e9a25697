import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatQuantity, parseQuantity, sumResources } from './quantity.ts';

test.each([
  ['4', 4000n],
  ['1500m', 1500n],
  ['0.5', 500n],
  ['16Gi', 17_179_869_184_000n],
  ['2k', 2_000_000n],
  ['1e3', undefined],
  ['', undefined],
  // So long that to reckon with it would take seconds.
  ['9'.repeat(65), undefined],
])('quantity %j', (text, want) => {
  expect(parseQuantity(text)).toBe(want);
});

test('a quantity that we write is read as the same amount', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 70n }), fc.boolean(), (amount, isBytes) => {
      expect(parseQuantity(formatQuantity(amount, isBytes))).toBe(amount);
    }),
  );
});

test('resources are added by name; what is no quantity is left out', () => {
  const sum = sumResources([
    { cpu: '3920m', memory: '16Gi', 'nvidia.com/gpu': '1' },
    { cpu: '80m', memory: '512Ki', pods: 'many' },
  ]);
  expect(sum).toEqual({ cpu: '4', memory: '16777728Ki', 'nvidia.com/gpu': '1' });
});

test('a list that many nodes share is added for each of them; names longer than the hub takes are left out', () => {
  const shared = { cpu: '2', [`example.com/${'x'.repeat(60)}`]: '1' };
  expect(sumResources([shared, shared, { cpu: '1' }])).toEqual({ cpu: '5' });
});

test('the order of the lists changes nothing, not even the text', () => {
  const lists = [
    { memory: '1Gi', cpu: '1' },
    { cpu: '2', pods: '3' },
  ];
  expect(JSON.stringify(sumResources(lists))).toBe(JSON.stringify(sumResources(lists.toReversed())));
});
