import fc from 'fast-check';
import { expect, test } from 'vitest';
import { factsSchema } from '@rollcall/shared/bus';
import { describeNodes, readMemberFacts } from './member-facts.ts';
import { formatQuantity, parseQuantity, sumResources } from './quantity.ts';

test.each([
  ['4', 4000n],
  ['1500m', 1500n],
  ['0.5', 500n],
  ['16Gi', 17_179_869_184_000n],
  ['2k', 2_000_000n],
  ['1e3', undefined],
  ['', undefined],
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

const aNode = (name: string, more: { ready?: boolean; unschedulable?: boolean } = {}) => ({
  metadata: { name, labels: { 'topology.kubernetes.io/region': 'eu-1' } },
  spec: {
    unschedulable: more.unschedulable ?? false,
    providerID: `kind://x/${name}`,
    podCIDRs: ['10.0.0.0/24'],
  },
  status: {
    capacity: { cpu: '2' },
    allocatable: { cpu: '1900m' },
    conditions: [{ type: 'Ready', status: more.ready === false ? 'False' : 'True' }],
  },
});

test('nodes are counted and summed', () => {
  expect(
    describeNodes([aNode('a'), aNode('b', { unschedulable: true }), aNode('c', { ready: false })]),
  ).toEqual({
    nodes: { total: 3, ready: 2, schedulable: 1, sample: 'a' },
    capacity: { cpu: '6' },
    allocatable: { cpu: '5700m' },
    podCIDRs: ['10.0.0.0/24'],
    provider: 'kind',
    region: 'eu-1',
  });
});

/** Answers by path; every other path is refused, as for a user without rights. */
const aMember = (answers: Record<string, { status: number; body: string }>) => ({
  server: 'https://127.0.0.1:6443',
  caPem: undefined,
  get: (path: string) => Promise.resolve(answers[path] ?? { status: 403, body: '' }),
  close: () => undefined,
});

test('what cannot be read is absent', async () => {
  const facts = await readMemberFacts(
    aMember({
      '/version': { status: 200, body: '{"gitVersion":"v1.36.3","platform":"linux/amd64"}' },
      '/readyz': { status: 500, body: '' },
    }),
    '0.1.0',
  );
  expect(facts).toEqual({
    kubernetesVersion: 'v1.36.3',
    platform: 'linux/amd64',
    readyz: false,
    apiServerURL: 'https://127.0.0.1:6443',
    agentVersion: '0.1.0',
  });
});

const page = (items: unknown[], next: string) => ({
  status: 200,
  body: JSON.stringify({ items, metadata: { continue: next } }),
});

test('nodes are read page by page, and the hub takes the result', async () => {
  const facts = await readMemberFacts(
    aMember({
      '/api/v1/nodes?limit=100': page([aNode('a')], 'more'),
      '/api/v1/nodes?limit=100&continue=more': page([aNode('b')], ''),
    }),
    '0.1.0',
  );
  expect(facts.nodes?.total).toBe(2);
  expect(factsSchema.parse(facts)).toEqual(facts);
});
