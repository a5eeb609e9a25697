/**
 * A strict reader of OpenMetrics 1.0 text: whatever the specification forbids and our services could get wrong is an error.
 * Written from the specification, not from our exposition.
 */
export interface ReadFamily {
  readonly name: string;
  type: string;
  unit: string;
  help: string;
  readonly samples: ReadSample[];
}

export interface ReadSample {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

/** What may follow the family's name in its samples. */
const suffixes: Readonly<Record<string, readonly string[]>> = {
  counter: ['_total', '_created'],
  gauge: [''],
  histogram: ['_bucket', '_count', '_sum', '_created'],
  info: ['_info'],
};

const metadataLine = /^# (?<what>TYPE|UNIT|HELP) (?<name>[a-zA-Z_:][a-zA-Z0-9_:]*) (?<text>.+)$/;
const sampleLine = /^(?<name>[a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(?<labels>.*)\})? (?<value>\S+)$/;
const labelPair = /(?<name>[a-zA-Z_][a-zA-Z0-9_]*)="(?<value>(?:[^"\\\n]|\\[\\"n])*)"(?:,(?=[a-zA-Z_])|$)/y;
const number = /^(?:[+-]?(?:\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|Inf)|NaN)$/;
const canonicalBound = /^(?:\+Inf|\d+\.\d+|\d+(?:\.\d+)?e[+-]\d+)$/;

function toNumber(text: string): number {
  if (!number.test(text)) throw new Error(`not a number: ${text}`);
  return Number(text.replace('Inf', 'Infinity'));
}

function readLabels(text: string): Map<string, string> {
  const labels = new Map<string, string>();
  labelPair.lastIndex = 0;
  for (let at = 0; at < text.length; at = labelPair.lastIndex) {
    const { name = '', value = '' } = labelPair.exec(text)?.groups ?? {};
    if (name === '') throw new Error(`bad labels: ${text.slice(at)}`);
    if (labels.has(name)) throw new Error(`label twice: ${name}`);
    const unescaped = value.replaceAll(/\\([\\"n])/g, (_, escaped) => (escaped === 'n' ? '\n' : escaped));
    labels.set(name, unescaped);
  }
  return labels;
}

function readMetadata(family: ReadFamily, what: string, text: string): void {
  if (family.samples.length > 0) throw new Error(`metadata of ${family.name} after its samples`);
  const field = what.toLowerCase() as 'type' | 'unit' | 'help';
  if (family[field] !== '') throw new Error(`${what} of ${family.name} twice`);
  if (!/^(?:[^"\\]|\\[\\"n])*$/.test(text)) throw new Error(`not escaped: ${text}`);
  if (field === 'type' && !suffixes[text]) throw new Error(`unknown type ${text}`);
  if (field === 'unit' && !family.name.endsWith(`_${text}`))
    throw new Error(`${family.name} does not end with its unit ${text}`);
  family[field] = text;
}

/** @throws Error naming the line that breaks the format */
export function readOpenMetrics(text: string): Map<string, ReadFamily> {
  const families = new Map<string, ReadFamily>();
  let current: ReadFamily | undefined;
  const lines = text.split('\n');
  if (lines.pop() !== '' || lines.pop() !== '# EOF')
    throw new Error('it does not end with # EOF and a line feed');
  for (const line of lines) {
    const metadata = metadataLine.exec(line)?.groups;
    if (metadata) {
      const { what = '', name = '', text: content = '' } = metadata;
      if (name !== current?.name) {
        if (families.has(name)) throw new Error(`${name} is not in one piece`);
        current = { name, type: '', unit: '', help: '', samples: [] };
        families.set(name, current);
      }
      readMetadata(current, what, content);
      continue;
    }
    const { name = '', labels = '', value = '' } = sampleLine.exec(line)?.groups ?? {};
    if (!current || !suffixes[current.type]?.some((suffix) => name === `${current?.name}${suffix}`))
      throw new Error(`no sample of ${current?.name ?? 'any family'}: ${line}`);
    current.samples.push({ name, labels: readLabels(labels), value: toNumber(value) });
  }
  for (const family of families.values()) checkFamily(family);
  return families;
}

const seriesKey = ({ labels }: ReadSample) =>
  JSON.stringify([...labels].filter(([label]) => label !== 'le').toSorted());

function checkFamily({ name, type, samples }: ReadFamily): void {
  const seen = new Set<string>();
  const done = new Set<string>();
  let before: string | undefined;
  for (const sample of samples) {
    const full = `${sample.name}${JSON.stringify([...sample.labels].toSorted())}`;
    if (seen.has(full)) throw new Error(`twice: ${full}`);
    seen.add(full);
    const series = seriesKey(sample);
    if (series !== before && done.has(series)) throw new Error(`a series of ${name} is not in one piece`);
    done.add(series);
    before = series;
    const isCount = type === 'counter' || sample.name.endsWith('_bucket') || sample.name.endsWith('_count');
    if (isCount && !(sample.value >= 0)) throw new Error(`${full} is ${sample.value}`);
    if (type === 'info' && sample.value !== 1) throw new Error(`${full} is not 1`);
  }
  if (type === 'histogram') {
    for (const series of Map.groupBy(samples, seriesKey).values()) checkHistogram(name, series);
  }
}

function checkHistogram(name: string, samples: readonly ReadSample[]): void {
  const valueOf = (suffix: string) => samples.find((one) => one.name === `${name}${suffix}`)?.value;
  const buckets = samples.filter((one) => one.name === `${name}_bucket`);
  let [lastBound, lastValue] = [Number.NEGATIVE_INFINITY, 0];
  for (const { labels, value } of buckets) {
    const le = labels.get('le') ?? '';
    if (!canonicalBound.test(le)) throw new Error(`le="${le}" of ${name} is not canonical`);
    if (toNumber(le) <= lastBound || value < lastValue) throw new Error(`buckets of ${name} do not rise`);
    [lastBound, lastValue] = [toNumber(le), value];
  }
  if (lastBound !== Infinity || lastValue !== valueOf('_count'))
    throw new Error(`${name} has no +Inf bucket that is its count`);
  if (valueOf('_sum') === undefined) throw new Error(`${name} has no sum`);
}
