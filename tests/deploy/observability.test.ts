import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { metricCatalogue, type MetricDefinition } from '@rollcall/shared/service';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { readDocument, repository } from '../docs/markdown.ts';

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook: string };
}
interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  readonly fieldConfig?: {
    readonly defaults: { readonly unit: string };
    readonly overrides: readonly {
      readonly matcher: { readonly id: string; readonly options: string };
      readonly properties: readonly { readonly id: string; readonly value: unknown }[];
    }[];
  };
}

const read = (file: string) => readFileSync(join(repository, 'deploy', 'observability', file), 'utf8');
const rules = parse(read('alerts.yaml')) as { groups: { rules: Alert[] }[] };
const alerts = rules.groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(read('grafana-dashboard.json')) as { panels: Panel[] };

const queries = [
  ...alerts.map(({ alert, expr }) => ({ of: `alert ${alert}`, expr })),
  ...dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }, index) => ({ of: `panel "${title}" ${index + 1}`, expr })),
  ),
];

/** Names that a scrape shows, with the metric each belongs to. */
const shown = new Map(
  Object.entries<MetricDefinition>(metricCatalogue).flatMap(([name, definition]) => {
    const suffixes = {
      histogram: ['_bucket', '_count', '_sum'],
      info: ['_info'],
      counter: [''],
      gauge: [''],
    };
    return suffixes[definition.type].map((suffix) => [`${name}${suffix}`, definition] as const);
  }),
);
/** What Prometheus adds to every sample, and a histogram's own. */
const labelsOfAll = new Set(['job', 'instance', 'le']);

function selectorsIn(expr: string): { name: string; matchers: string[][] }[] {
  return [...expr.matchAll(/\b((?:rollcall|process)_[a-z0-9_]+)(?:\{([^}]*)\})?/g)].map(
    ([, name = '', text = '']) => ({
      name,
      matchers: [...text.matchAll(/([a-z_]+)(=~|!~|!=|=)"([^"]*)"/g)].map((found) => found.slice(1)),
    }),
  );
}

test.each(queries)('$of asks for what is there', ({ expr }) => {
  const selectors = selectorsIn(expr);
  expect(selectors.length).toBeGreaterThan(0);
  for (const { name, matchers } of selectors) {
    expect([...shown.keys()]).toContain(name);
    for (const [label = '', operator = '', value = ''] of matchers) {
      if (labelsOfAll.has(label)) continue;
      const values = shown.get(name)?.labels?.[label] ?? [];
      const pattern = new RegExp(`^(?:${value})$`);
      const matched = values.filter((one) => (operator.includes('~') ? pattern.test(one) : one === value));
      expect(matched, `${label} of ${name}`).not.toEqual([]);
    }
  }
  for (const [, labels = ''] of expr.matchAll(/\bby \(([^)]*)\)/g)) {
    const known = selectors.flatMap(({ name }) => Object.keys(shown.get(name)?.labels ?? {}));
    for (const label of labels.split(', ')) expect([...known, ...labelsOfAll]).toContain(label);
  }
});

/** As Grafana names them: so many (of what it is) a second. */
const perSecond = ['cps', 'reqps', 'ops', 'wps'];

/** Units that a series of the dashboard may be drawn in, by the suffix of the metric and what is made of it. */
function unitsOf(expr: string): readonly string[] {
  const [{ name } = { name: '' }] = selectorsIn(expr);
  if (expr.includes('histogram_quantile(')) return name.endsWith('_seconds_bucket') ? ['s'] : ['short'];
  // What grows over a time is a number of its own; seconds of a processor in each second are processors.
  if (expr.includes('rate(') && name.endsWith('_total'))
    return name.endsWith('_seconds_total') ? ['short'] : perSecond;
  if (name.endsWith('_seconds')) return ['s'];
  if (name.endsWith('_bytes')) return ['bytes'];
  return name.endsWith('_ratio') ? ['percentunit'] : ['short'];
}

const series = dashboard.panels.flatMap(({ title, targets = [], fieldConfig }) =>
  targets.map(({ expr, legendFormat }) => {
    const overrides = fieldConfig?.overrides.filter(({ matcher }) => matcher.options === legendFormat) ?? [];
    const override = overrides.flatMap(({ properties }) => properties).find(({ id }) => id === 'unit');
    return { title, legendFormat, expr, unit: override?.value ?? fieldConfig?.defaults.unit };
  }),
);

test.each(series)('panel "$title" draws "$legendFormat" in the unit of its metric', ({ expr, unit }) => {
  expect(unitsOf(expr)).toContain(unit);
});

test('each override of a panel is of a series that it draws', () => {
  for (const { title, targets = [], fieldConfig } of dashboard.panels) {
    const names = targets.map(({ legendFormat }) => legendFormat);
    for (const { matcher } of fieldConfig?.overrides ?? []) {
      expect(matcher.id, title).toBe('byName');
      expect(names, title).toContain(matcher.options);
    }
  }
});

test('each alert has its paragraph of what to do, and no paragraph is left over', () => {
  const document = readDocument('docs/metrics.md');
  const headings = [...document.matchAll(/^### (\w+)\n\S/gm)].map(([, heading]) => heading);
  expect(headings).toEqual(alerts.map(({ alert }) => alert));
  for (const { alert, annotations, labels } of alerts) {
    expect(annotations.runbook).toBe(`docs/metrics.md#${alert.toLowerCase()}`);
    expect(annotations.summary).not.toBe('');
    expect(['info', 'warning', 'critical']).toContain(labels.severity);
  }
});

test('the example of how to scrape has a job for each service: the dashboard tells them apart by it', () => {
  const [, example = ''] = /```yaml\n(.*?)```/s.exec(readDocument('docs/metrics.md')) ?? [];
  const { scrape_configs: jobs } = parse(example) as { scrape_configs: { job_name: string }[] };
  const services = metricCatalogue.rollcall_build.labels.service.map((service) => `rollcall-${service}`);
  expect(jobs.map(({ job_name: name }) => name)).toEqual(services);
});

test('every metric of a service is on the dashboard or in an alert', () => {
  const asked = new Set(queries.flatMap(({ expr }) => selectorsIn(expr).map(({ name }) => name)));
  const isAsked = (name: string, { type }: MetricDefinition) =>
    asked.has(type === 'histogram' ? `${name}_bucket` : type === 'info' ? `${name}_info` : name);
  const unasked = Object.entries<MetricDefinition>(metricCatalogue)
    .filter(([name, definition]) => !isAsked(name, definition))
    .map(([name]) => name);
  expect(unasked).toEqual([
    'rollcall_bus_connected',
    'process_start_time_seconds',
    'rollcall_connection_notices_total',
    'rollcall_projector_budget_writes_per_second',
  ]);
});
