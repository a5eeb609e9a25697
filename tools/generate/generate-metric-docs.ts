import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { serviceRoles } from '@rollcall/shared/rights';
import { metricCatalogue, type MetricDefinition } from '@rollcall/shared/service';
import type { Generated } from './generated-file.ts';

const folder = 'docs';
const file = 'metrics.md';
const begin = '<!-- made by `npm run generate` from libs/shared/service/metrics/metric-catalogue.ts -->\n';
const end = '<!-- end -->\n';
/** Longer lists are those of the event catalogue, the error catalogue and the like. */
const valuesShown = 8;

function labelText([label, values]: [string, readonly string[]]): string {
  const some = values.slice(0, values.length > valuesShown ? 2 : valuesShown).map((value) => `\`${value}\``);
  const rest = values.length > valuesShown ? `, …` : '';
  return `${label}: ${some.join(', ')}${rest}`;
}

function row([name, { type, help, labels = {}, services }]: [string, MetricDefinition]): string {
  const shown = type === 'info' ? `${name}_info` : name;
  const who = services.length === Object.keys(serviceRoles).length ? 'all' : services.join(', ');
  const cells = [`\`${shown}\``, type, Object.entries(labels).map(labelText).join('; '), who, help];
  return `| ${cells.join(' | ')} |`;
}

/** The table in docs/metrics.md; what stands around it is written by hand. */
export function metricDocs(): Generated {
  const text = readFileSync(join(import.meta.dirname, '..', '..', folder, file), 'utf8');
  const [before, rest = ''] = text.split(begin);
  const after = rest.slice(rest.indexOf(end));
  const rows = Object.entries<MetricDefinition>(metricCatalogue).map(row);
  const table = `\n| metric | type | labels | services | what it says |\n| --- | --- | --- | --- | --- |\n${rows.join('\n')}\n\n`;
  return { folder, extension: file, files: new Map([[file, `${before}${begin}${table}${after}`]]) };
}
