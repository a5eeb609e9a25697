import fc from 'fast-check';
import { expect, test } from 'vitest';
import { factsSchema } from '@rollcall/shared/bus';
import type { StoredObject } from '@rollcall/shared/kubernetes';
import { countNode, createPool, type NodeObject } from './counted-node.ts';
import { describeNodes } from './facts-of-nodes.ts';

interface Trait {
  readonly ready?: boolean;
  readonly unschedulable?: boolean;
  readonly podCIDR?: string;
  readonly provider?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

function aNode(name: string, trait: Trait = {}): StoredObject<NodeObject> {
  const { ready = true, unschedulable = false, podCIDR = '10.0.0.0/24', provider = 'kind' } = trait;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      uid: name,
      resourceVersion: '1',
      labels: { 'topology.kubernetes.io/region': 'eu-1', ...trait.labels },
    },
    spec: { unschedulable, providerID: `${provider}://x/${name}`, podCIDRs: [podCIDR] },
    status: {
      capacity: { cpu: '2' },
      allocatable: { cpu: '1900m' },
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    },
  };
}

function describeAll(nodes: readonly StoredObject<NodeObject>[], labelThresholdPercent = 0) {
  const pool = createPool();
  return describeNodes(
    nodes.map((node) => countNode(node, pool)),
    { labelThresholdPercent },
  );
}

test('nodes are counted and summed, allocatable without those that are cordoned [CN-6] [FL-9]', () => {
  const nodes = [aNode('b', { unschedulable: true }), aNode('a'), aNode('c', { ready: false })];
  expect(describeAll(nodes)).toEqual({
    nodes: { total: 3, ready: 2, schedulable: 1, sample: 'a' },
    capacity: { cpu: '6' },
    allocatable: { cpu: '3800m' },
    podCIDRs: ['10.0.0.0/24'],
    provider: 'kind',
    region: 'eu-1',
  });
});

test('no nodes are counted, too', () => {
  expect(describeAll([])).toEqual({
    nodes: { total: 0, ready: 0, schedulable: 0 },
    capacity: {},
    allocatable: {},
  });
});

test('the pod ranges of many nodes are told as the range that they are cut from', () => {
  const nodes = Array.from({ length: 5000 }, (_, index) => {
    const podCIDR = `10.${Math.floor(index / 256)}.${index % 256}.0/24`;
    return aNode(`node-${index}`, { podCIDR });
  });
  const { podCIDRs } = describeAll(nodes);
  expect(podCIDRs).toEqual(['10.0.0.0/12', '10.16.0.0/15', '10.18.0.0/16', '10.19.0.0/17', '10.19.128.0/21']);
});

test('provider and region are those of most nodes', () => {
  const edge = { 'topology.kubernetes.io/region': 'edge' };
  const nodes = [aNode('a', { provider: 'metal', labels: edge }), aNode('b'), aNode('c')];
  expect(describeAll(nodes)).toMatchObject({ provider: 'kind', region: 'eu-1' });
});

const anything = fc.record({
  ready: fc.boolean(),
  unschedulable: fc.boolean(),
  podCIDR: fc.nat(40).map((third) => `10.0.${third}.0/24`),
  provider: fc.constantFrom('kind', 'metal', ''),
  labels: fc.dictionary(
    fc.constantFrom('pool', 'node.rollcall.dev/pool', 'a.dev/pool', 'x/y', 'Zone'),
    fc.string({ maxLength: 4 }),
  ),
});

test('whatever the nodes are, in whatever order, the text is the same and the hub takes it', () => {
  const shuffled = fc.array(anything, { maxLength: 12 }).chain((traits) => {
    const nodes = traits.map((trait, index) => aNode(`node-${index}`, trait));
    return fc.tuple(fc.constant(nodes), fc.shuffledSubarray(nodes, { minLength: nodes.length }));
  });
  fc.assert(
    fc.property(shuffled, ([nodes, reordered]) => {
      const facts = describeAll(nodes, 51);
      expect(JSON.stringify(describeAll(reordered, 51))).toBe(JSON.stringify(facts));
      expect(factsSchema.parse(facts)).toEqual(facts);
    }),
  );
});

test('amounts and labels that are longer than any of Kubernetes are neither kept of a node nor added up', () => {
  const node = aNode('a', { labels: { ok: '1', long: 'v'.repeat(64), ['k'.repeat(318)]: '1' } });
  const hostile = { cpu: '9'.repeat(4_000_000), memory: '1Gi', ['r'.repeat(318)]: '1' };
  const { capacity, labels } = countNode(
    { ...node, status: { ...node.status, capacity: hostile } },
    createPool(),
  );
  expect(labels).toEqual(['ok=1', 'topology.kubernetes.io/region=eu-1']);
  expect(Object.keys(capacity)).toEqual(['memory']);
});
