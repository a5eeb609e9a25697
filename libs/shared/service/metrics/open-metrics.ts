import type { MetricDefinition } from './metric-definition.ts';

/** The figures of one combination of labels. */
export interface Series {
  readonly labels: readonly (readonly [name: string, value: string])[];
  /** Of a histogram: the sum of what was observed. */
  value: number;
  /** Of a histogram: how often was observed. */
  count: number;
  /** Of a histogram: how many fell into each bucket, not yet added up. */
  readonly buckets: number[];
}

export interface Family {
  /** As it is used in queries; a counter's ends in `_total`. */
  readonly name: string;
  readonly definition: MetricDefinition;
  readonly series: ReadonlyMap<string, Series>;
}

export const openMetricsContentType = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

const escaped = (text: string) =>
  text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');

function sample(name: string, labels: Series['labels'], value: number): string {
  const text = labels.map(([label, content]) => `${label}="${escaped(content)}"`).join(',');
  return `${name}${text === '' ? '' : `{${text}}`} ${value}\n`;
}

/** Canonical, so that `le="1.0"` is one bucket whichever client wrote it. */
const bound = (limit: number) => (Number.isInteger(limit) ? `${limit}.0` : String(limit));

function histogram(name: string, bounds: readonly number[], series: Series): string {
  let below = 0;
  let text = '';
  for (const [index, limit] of bounds.entries()) {
    below += series.buckets[index] ?? 0;
    text += sample(`${name}_bucket`, [...series.labels, ['le', bound(limit)]], below);
  }
  text += sample(`${name}_bucket`, [...series.labels, ['le', '+Inf']], series.count);
  return (
    text +
    sample(`${name}_count`, series.labels, series.count) +
    sample(`${name}_sum`, series.labels, series.value)
  );
}

const units = ['seconds', 'bytes'] as const;

/** OpenMetrics 1.0 text of some metrics, metadata first, as the specification has it. */
export function openMetricsText(families: Iterable<Family>): string {
  let text = '';
  for (const { name, definition, series } of families) {
    const { type, help, buckets = [] } = definition;
    const family = type === 'counter' ? name.replace(/_total$/, '') : name;
    text += `# TYPE ${family} ${type}\n`;
    const unit = units.find((one) => family.endsWith(`_${one}`));
    if (unit) text += `# UNIT ${family} ${unit}\n`;
    text += `# HELP ${family} ${escaped(help)}\n`;
    for (const one of series.values()) {
      if (type === 'histogram') text += histogram(name, buckets, one);
      else text += sample(type === 'info' ? `${name}_info` : name, one.labels, one.value);
    }
  }
  return `${text}# EOF\n`;
}
