import { parse } from 'yaml';
import { expect, test } from 'vitest';
import { manifestsIn } from '../../../cli/up/hub-manifests.ts';
import { ownSets } from './built-in-sets.ts';

test('the sets that are made again are those of an installation', () => {
  const installed = manifestsIn('sets').map((text) => parse(text) as unknown);
  expect([...ownSets.values()]).toEqual(installed);
});
