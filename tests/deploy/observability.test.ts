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
  readonly targets?: readonly { readonly expr: string }[];
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
