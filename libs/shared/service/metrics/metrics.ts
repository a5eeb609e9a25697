import type { ServiceName } from '@rollcall/shared/rights';
import { type LabelsOf, metricCatalogue, type MetricName } from './metric-catalogue.ts';
import type { MetricDefinition } from './metric-definition.ts';
import { type Family, openMetricsText, type Series } from './open-metrics.ts';

/** What a service counts with. Names, labels and their values stand in `metric-catalogue.ts`. */
export interface Metrics {
  count<Name extends MetricName<'counter'>>(name: Name, ...labels: LabelsOf<Name>): void;
  /** A counter that is counted elsewhere, by its total. */
  total<Name extends MetricName<'counter'>>(name: Name, value: number, ...labels: LabelsOf<Name>): void;
  gauge<Name extends MetricName<'gauge' | 'info'>>(
    name: Name,
    value: number,
    ...labels: LabelsOf<Name>
  ): void;
  /** @param value - in the unit of the metric's name */
  observe<Name extends MetricName<'histogram'>>(name: Name, value: number, ...labels: LabelsOf<Name>): void;
  /** Has figures that change by themselves (an age, memory) brought up to date for each scrape. */
  beforeScrape(bringUpToDate: () => void): void;
}

export interface MetricsRegistry extends Metrics {
  /** Of a counter or a gauge, as last said: the sum over the labels that are not given; 0 before the first. */
  value(name: MetricName<'counter' | 'gauge'>, labels?: Readonly<Record<string, string>>): number;
  /** In OpenMetrics 1.0 text. */
  render(): string;
}

interface KeptFamily extends Family {
  readonly series: Map<string, Series>;
}

function seriesOf(family: KeptFamily, labels: Readonly<Record<string, string>> = {}): Series {
  const values = Object.entries(family.definition.labels ?? {}).map(([label, known]) => {
    const value = labels[label] ?? '';
    return known.includes(value) ? value : 'other';
  });
  const key = values.join('|');
  let series = family.series.get(key);
  if (!series) {
    const { labels: declared = {}, buckets } = family.definition;
    const named = Object.keys(declared).map((label, index) => [label, values[index] ?? ''] as const);
    series = { labels: named, value: 0, count: 0, buckets: buckets ? Array(buckets.length).fill(0) : [] };
    family.series.set(key, series);
  }
  return series;
}

/** Series of one metric; those with a label that has many values appear as they are counted. */
const shownFromTheStart = 128;

function combinationsOf(labels: MetricDefinition['labels'] = {}): Record<string, string>[] {
  let all: Record<string, string>[] = [{}];
  for (const [label, values] of Object.entries(labels)) {
    all = all.flatMap((one) => values.map((value) => ({ ...one, [label]: value })));
  }
  return all;
}

/**
 * The metrics of one service.
 * @throws TypeError (a bug) from every use of a metric that the catalogue does not give to this service
 */
export function createMetrics(service: ServiceName): MetricsRegistry {
  const families = new Map<string, KeptFamily>();
  const figures: (() => void)[] = [];
  for (const [name, definition] of Object.entries<MetricDefinition>(metricCatalogue)) {
    if (!definition.services.includes(service)) continue;
    const family: KeptFamily = { name, definition, series: new Map() };
    families.set(name, family);
    // An alert can see a counter rise only from a 0 that was there before.
    if (definition.type === 'gauge' || definition.type === 'info') continue;
    const combinations = combinationsOf(definition.labels);
    if (combinations.length <= shownFromTheStart) for (const labels of combinations) seriesOf(family, labels);
  }

  function familyOf(name: string): KeptFamily {
    const family = families.get(name);
    if (!family) throw new TypeError(`metric ${name} is not one of ${service}`);
    return family;
  }

  return {
    count: (name, ...[labels]) => void seriesOf(familyOf(name), labels).value++,
    total: (name, value, ...[labels]) => void (seriesOf(familyOf(name), labels).value = value),
    gauge: (name, value, ...[labels]) => void (seriesOf(familyOf(name), labels).value = value),
    observe(name, value, ...[labels]) {
      const family = familyOf(name);
      const series = seriesOf(family, labels);
      const at = family.definition.buckets?.findIndex((bound) => value <= bound) ?? -1;
      if (at >= 0) series.buckets[at] = (series.buckets[at] ?? 0) + 1;
      series.count++;
      series.value += value;
    },
    beforeScrape: (bringUpToDate) => void figures.push(bringUpToDate),
    value(name, wanted = {}) {
      const matches = ({ labels }: Series) =>
        labels.every(([label, value]) => wanted[label] === undefined || wanted[label] === value);
      const all = [...familyOf(name).series.values()].filter(matches);
      return all.reduce((sum, { value }) => sum + value, 0);
    },
    render() {
      for (const bringUpToDate of figures) bringUpToDate();
      return openMetricsText(families.values());
    },
  };
}
