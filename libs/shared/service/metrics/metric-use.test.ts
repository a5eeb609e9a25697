import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { metricCatalogue } from './metric-catalogue.ts';
import type { MetricDefinition } from './metric-definition.ts';

const repository = join(import.meta.dirname, '..', '..', '..', '..');

/** Names of metrics in the code of a folder, tests and the catalogue left out. */
function namesIn(folder: string): Set<string> {
  const files = readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' });
  const code = files.filter(
    (file) =>
      /(?<!\.test)\.ts$/.test(file) && !file.startsWith('tests/') && !file.endsWith('metric-catalogue.ts'),
  );
  const texts = code.map((file) => readFileSync(join(repository, folder, file), 'utf8'));
  return new Set(texts.flatMap((text) => text.match(/(?<=')(?:rollcall|process)_[a-z0-9_]+(?=')/g) ?? []));
}

const shared = new Set([...namesIn('libs/shared/service'), ...namesIn('libs/shared/decisions')]);
const definitions = Object.entries<MetricDefinition>(metricCatalogue);
const services = [...new Set(definitions.flatMap(([, definition]) => definition.services))];

const folderOf = (service: string) => `services/${service}`;

test.each(services)('%s uses exactly what the catalogue gives to it', (service) => {
  const used = new Set([...namesIn(folderOf(service)), ...shared]);
  const own = definitions.filter(([, definition]) => definition.services.includes(service));
  expect(own.map(([name]) => name).filter((name) => !used.has(name))).toEqual([]);
  const given = new Set(own.map(([name]) => name));
  expect([...namesIn(folderOf(service))].filter((name) => !given.has(name))).toEqual([]);
});
