import { expect, test } from 'vitest';
import { readOpenMetrics } from '../../../../tests/harness/open-metrics.ts';
import { metricCatalogue } from './metric-catalogue.ts';
import type { MetricDefinition } from './metric-definition.ts';
import { createMetrics } from './metrics.ts';
import { openMetricsText } from './open-metrics.ts';
import { measureProcess } from './process-metrics.ts';

const definitions = Object.entries<MetricDefinition>(metricCatalogue);
const services = [
  'registrar',
  'approver',
  'rbac-provisioner',
  'heartbeat',
  'projector',
  'account-controller',
] as const;

test.each(services)('what %s shows is strict OpenMetrics, before and after it has counted', (service) => {
  const metrics = createMetrics(service);
  const fresh = readOpenMetrics(metrics.render());
  const own = definitions.filter(([, { services: users }]) => users.includes(service));
  expect([...fresh.keys()]).toEqual(own.map(([name]) => name.replace(/_total$/, '')));
  const stopMeasuring = measureProcess(metrics);
  for (const [name, { type, labels = {} }] of own) {
    const some = Object.fromEntries(Object.entries(labels).map(([label, [value = '']]) => [label, value]));
    // The names come from the catalogue itself, so the compiler cannot pair each with its own labels.
    const use = metrics as unknown as Record<string, (...args: unknown[]) => void>;
    if (type === 'counter') use['count']?.(name, some);
    else if (type === 'histogram') for (const value of [0, 0.3, 1e9]) use['observe']?.(name, value, some);
    else use['gauge']?.(name, 1, some);
  }
  const families = readOpenMetrics(metrics.render());
  stopMeasuring();
  for (const [name, family] of families) expect(family.samples.length, name).toBeGreaterThan(0);
  expect(families.get('process_resident_memory_bytes')).toMatchObject({ type: 'gauge', unit: 'bytes' });
});

test('a histogram adds up, a bound belongs to its bucket', () => {
  const metrics = createMetrics('registrar');
  for (const seconds of [0.001, 0.002, 1, 11]) metrics.observe('rollcall_callout_duration_seconds', seconds);
  const text = metrics.render();
  for (const line of [
    '_bucket{le="0.001"} 1',
    '_bucket{le="0.0025"} 2',
    '_bucket{le="1.0"} 3',
    '_bucket{le="+Inf"} 4',
  ])
    expect(text).toContain(`rollcall_callout_duration_seconds${line}\n`);
  expect(text).toContain('rollcall_callout_duration_seconds_count 4\n');
});

test('what is not in the table is one series, whatever an agent calls it', () => {
  const metrics = createMetrics('registrar');
  for (const verb of ['join', 'x"} 1\nforged 2', 'cluster-17']) {
    metrics.count('rollcall_agent_requests_total', { verb, outcome: 'malformed' });
  }
  const { samples = [] } = readOpenMetrics(metrics.render()).get('rollcall_agent_requests') ?? {};
  const counted = samples.filter(({ value }) => value > 0);
  expect(counted.map(({ labels, value }) => [labels.get('verb'), value])).toEqual([
    ['join', 1],
    ['other', 2],
  ]);
  expect(metrics.value('rollcall_agent_requests_total')).toBe(3);
  expect(metrics.value('rollcall_agent_requests_total', { verb: 'join' })).toBe(1);
});

test('a service cannot use what the catalogue gives to others', () => {
  const metrics = createMetrics('heartbeat');
  expect(() => metrics.count('rollcall_callouts_total', { outcome: 'refused' })).toThrow(
    'is not one of heartbeat',
  );
});

test('figures that change by themselves are brought up to date for each scrape', () => {
  const metrics = createMetrics('heartbeat');
  let times = 1;
  metrics.beforeScrape(() => metrics.total('rollcall_liveness_not_receiving_total', times));
  expect(metrics.render()).toContain('rollcall_liveness_not_receiving_total 1\n');
  times = 5;
  expect(metrics.render()).toContain('rollcall_liveness_not_receiving_total 5\n');
});

test('text is escaped', () => {
  const definition = { type: 'gauge', help: 'a "b" \\ \n c', services: [] } as const;
  const labels = [['of', 'x"y\\z\nw']] as const;
  const series = new Map([['', { labels, value: 1, count: 0, buckets: [] }]]);
  const [family] = readOpenMetrics(openMetricsText([{ name: 'a', definition, series }])).values();
  expect(family?.samples[0]?.labels.get('of')).toBe('x"y\\z\nw');
});

test.each(definitions)('%s has a proper name, a sentence of help, and bounded labels', (name, definition) => {
  const { type, help, labels = {}, buckets } = definition;
  expect(name).toMatch(/^(?:rollcall|process)_[a-z0-9_]+$/);
  expect(name.endsWith('_total')).toBe(type === 'counter');
  expect(type === 'histogram').toBe(buckets !== undefined);
  expect(buckets ?? []).toEqual([...(buckets ?? [])].toSorted((a, b) => a - b));
  expect(help).toMatch(/^(?:[A-Z]|[01] ).*\.$/);
  for (const [label, values] of Object.entries(labels)) {
    expect(label).toMatch(/^[a-z]+$/);
    expect(['le', 'quantile']).not.toContain(label);
    expect(values.length).toBeGreaterThan(0);
    expect(new Set(values).size).toBe(values.length);
  }
});

const histogram = '# TYPE a histogram\n';

test.each([
  ['no end', 'a 1\n', 'does not end with # EOF'],
  ['no type', 'a 1\n# EOF\n', 'no sample of any family'],
  ['a counter without _total', '# TYPE a counter\na 1\n# EOF\n', 'no sample of a'],
  ['an empty line', '# TYPE a gauge\n\na 1\n# EOF\n', 'no sample of a'],
  ['two pieces', '# TYPE a gauge\na 1\n# TYPE b gauge\n# TYPE a gauge\n# EOF\n', 'not in one piece'],
  ['a foreign unit', '# TYPE a gauge\n# UNIT a seconds\n# EOF\n', 'does not end with its unit'],
  ['a foreign escape', '# TYPE a gauge\na{b="\\t"} 1\n# EOF\n', 'bad labels'],
  ['a series twice', '# TYPE a gauge\na{b="c"} 1\na{b="c"} 2\n# EOF\n', 'twice'],
  ['no number', '# TYPE a gauge\na one\n# EOF\n', 'not a number'],
  [
    'falling buckets',
    `${histogram}a_bucket{le="1.0"} 2\na_bucket{le="+Inf"} 1\na_count 1\na_sum 1\n# EOF\n`,
    'do not rise',
  ],
  ['no +Inf', `${histogram}a_bucket{le="1.0"} 1\na_count 1\na_sum 1\n# EOF\n`, 'no +Inf'],
  [
    'a bound that is not canonical',
    `${histogram}a_bucket{le="1"} 1\na_bucket{le="+Inf"} 1\na_count 1\na_sum 1\n# EOF\n`,
    'not canonical',
  ],
])('the strict reader refuses %s', (_, text, message) => {
  expect(() => readOpenMetrics(text)).toThrow(message);
});
