import { expect, test } from 'vitest';
import { parseBoundedYaml } from './bounded-yaml.ts';

test('keys of a map are as many as a person writes, each once', () => {
  const keys = (count: number) => Array.from({ length: count }, (_, number) => `key-${number}: 1`).join('\n');
  expect(Object.keys(parseBoundedYaml(keys(800)) as object)).toHaveLength(800);
  expect(() => parseBoundedYaml(keys(1200))).toThrow('too many keys');
  expect(() => parseBoundedYaml('a: 1\na: 2')).toThrow('unique');
});

test('aliases are as many as a person writes, also of what is empty', () => {
  const aliases = (count: number) => `a: &a []\nb: [${Array(count).fill('*a').join(',')}]`;
  expect(parseBoundedYaml(aliases(50))).toMatchObject({ a: [] });
  expect(() => parseBoundedYaml(aliases(1200))).toThrow('too many aliases');
});
