import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rollcallVersion } from '@rollcall/shared/service';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { readRelease } from '../tests/upgrade/recorded-release.ts';
import { refusedBy, type Schema } from '../tests/upgrade/refused-by.ts';

const repository = join(import.meta.dirname, '..');
/** Where it differs, one of two versions side by side cannot read the other; tests/upgrade/README.md says what to do. */
const release = readRelease();
const now = (folder: string, name: string) => readFileSync(join(repository, folder, name), 'utf8');

/** Names of the files of a folder, as the release had them. */
function namesThen(folder: string, ending: string): string[] {
  return Object.keys(release.files)
    .filter((path) => path.startsWith(`${folder}/`) && path.endsWith(ending))
    .map((path) => path.slice(folder.length + 1));
}

test('what is recorded is of the minor version before this one', () => {
  const [major = 0, minor = 0] = rollcallVersion.split('.').map(Number);
  // Before the first release there is nothing earlier than an earlier state of itself.
  const isFirst = major === 0 && minor === 1;
  const wanted = isFirst ? '0.1.' : minor > 0 ? `${major}.${minor - 1}.` : `${major - 1}.`;
  expect(release.version.slice(0, wanted.length)).toBe(wanted);
});

const events = namesThen('docs/events', '.json');
test('every event of the release is still there', () => {
  const there = readdirSync(join(repository, 'docs', 'events'));
  expect(events.length).toBeGreaterThan(50);
  expect(events.filter((name) => !there.includes(name))).toEqual([]);
});

test.each(events)('%s: what one version writes the other reads, both ways', (name) => {
  const then = JSON.parse(release.files[`docs/events/${name}`] ?? '') as Schema;
  const today = JSON.parse(now('docs/events', name)) as Schema;
  expect(refusedBy(today, then)).toEqual([]);
  expect(refusedBy(then, today)).toEqual([]);
});

interface Crd {
  readonly spec: {
    readonly scope: string;
    readonly versions: readonly { readonly name: string; readonly schema: { openAPIV3Schema: Schema } }[];
  };
}

test.each(namesThen('deploy/crds', '.yaml'))(
  '%s: every object that the release took is taken as it is, and nothing of it is dropped',
  (name) => {
    const then = parse(release.files[`deploy/crds/${name}`] ?? '') as Crd;
    const today = parse(now('deploy/crds', name)) as Crd;
    expect(today.spec.scope).toBe(then.spec.scope);
    for (const version of then.spec.versions) {
      const same = today.spec.versions.find((one) => one.name === version.name);
      if (!same) throw new Error(`version ${version.name} is not served any more`);
      expect(refusedBy(same.schema.openAPIV3Schema, version.schema.openAPIV3Schema)).toEqual([]);
    }
  },
);

const anEvent = {
  type: 'object',
  properties: { state: { type: 'string', enum: ['a', 'b'] }, name: { type: 'string', maxLength: 64 } },
  required: ['state'],
  additionalProperties: {},
};
const withState = (state: Schema) => ({ ...anEvent, properties: { ...anEvent.properties, state } });
test.each<{ name: string; after: Schema; refused: boolean; refusedByOlder: boolean }>([
  { name: 'nothing', after: anEvent, refused: false, refusedByOlder: false },
  {
    name: 'a field more',
    after: { ...anEvent, properties: { ...anEvent.properties, more: { type: 'string' } } },
    refused: false,
    refusedByOlder: false,
  },
  {
    name: 'a field that must be there',
    after: { ...anEvent, required: ['state', 'name'] },
    refused: true,
    refusedByOlder: false,
  },
  {
    name: 'a field that need not be there any more',
    after: { ...anEvent, required: [] },
    refused: false,
    refusedByOlder: true,
  },
  {
    name: 'a value more',
    after: withState({ type: 'string', enum: ['a', 'b', 'c'] }),
    refused: false,
    refusedByOlder: true,
  },
  {
    name: 'a value less',
    after: withState({ type: 'string', enum: ['a'] }),
    refused: true,
    refusedByOlder: false,
  },
  { name: 'another type', after: withState({ type: 'integer' }), refused: true, refusedByOlder: true },
  {
    name: 'a longer text',
    after: { ...anEvent, properties: { ...anEvent.properties, name: { type: 'string', maxLength: 65 } } },
    refused: false,
    refusedByOlder: true,
  },
  {
    name: 'a closed list of fields',
    after: { ...anEvent, additionalProperties: false },
    refused: true,
    refusedByOlder: true,
  },
])('$name changed: old is refused by new $refused, new by old $refusedByOlder', (change) => {
  expect(refusedBy(change.after, anEvent).length > 0).toBe(change.refused);
  expect(refusedBy(anEvent, change.after).length > 0).toBe(change.refusedByOlder);
});
