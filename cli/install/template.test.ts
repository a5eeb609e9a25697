import { parse, parseAllDocuments } from 'yaml';
import { expect, test } from 'vitest';
import { fillIn, parseTemplate } from './template.ts';

const filled = (template: string, values: Record<string, unknown>): unknown =>
  parse(fillIn(parseTemplate(template), values));

test('a value cannot become YAML of its own', () => {
  const hostile = "x'\n---\nkind: Secret\n# ${token}";
  const text = fillIn(parseTemplate('kind: Test\nname: ${name}'), { name: hostile });
  expect(parseAllDocuments(text).map((document) => document.toJS() as unknown)).toEqual([
    { kind: 'Test', name: hostile },
  ]);
});

test.each([
  { name: 'a mapping', template: 'a: ${x}', values: { x: { b: [1] } }, want: { a: { b: [1] } } },
  { name: 'a value in a value', template: 'a: ${x.y}', values: { x: { y: 2 } }, want: { a: 2 } },
  {
    name: 'labels, in the order of their keys',
    template: 'a: ${x | pairs}',
    values: { x: { b: '2', a: '1' } },
    want: { a: 'a=1,b=2' },
  },
  {
    name: 'the host of an address',
    template: 'a: ${x | host}',
    values: { x: 'a.example.org:8443' },
    want: { a: 'a.example.org' },
  },
  {
    name: 'a list, with commas',
    template: 'a: ${x | commas}',
    values: { x: ['c', 'b'] },
    want: { a: 'c,b' },
  },
  {
    name: 'lines for each of a list',
    template: 'a: 1\n#each x as at, name\n#if not name is left-out\n${name}: 2\n#end\n#end',
    values: { x: ['b', 'left-out'] },
    want: { a: 1, b: 2 },
  },
  {
    name: 'each of a list',
    template: 'a:\n  - first\n  - ${...x}',
    values: { x: [{ b: 1 }, 'c'] },
    want: { a: ['first', { b: 1 }, 'c'] },
  },
  {
    name: 'none of a list',
    template: 'a:\n  - first\n  - ${...x}',
    values: { x: [] },
    want: { a: ['first'] },
  },
  { name: 'what is set', template: 'a: 1\n#if x\nb: 2\n#end', values: { x: 'y' }, want: { a: 1, b: 2 } },
  {
    name: 'what is not set',
    template: 'a: 1\n#if not x.y\nb: 2\n#end\nc: 3',
    values: { x: { y: true } },
    want: { a: 1, c: 3 },
  },
  {
    name: 'what has one value',
    template: 'a: 1\n#if x is y-z\nb: 2\n#end\n#if not x is y-z\nc: 3\n#end',
    values: { x: 'y-z' },
    want: { a: 1, b: 2 },
  },
  {
    name: 'what has one of several values',
    template: 'a: 1\n#if x is y or 3\nb: 2\n#end\n#if not x is y or z\nc: 3\n#end',
    values: { x: 3 },
    want: { a: 1, b: 2, c: 3 },
  },
  {
    name: 'a text with values in it',
    template: 'a: ${x-<y>.<z.w> | text}',
    values: { y: 1, z: { w: '"' } },
    want: { a: 'x-1."' },
  },
  {
    name: 'each of a mapping',
    template: '#each x as k, v\n${<k>! | text}: ${v.n}\n#end',
    values: { x: { b: { n: 2 }, a: { n: 1 } } },
    want: { 'a!': 1, 'b!': 2 },
  },
  { name: 'a comment', template: 'a: 1 # ${x}', values: {}, want: { a: 1 } },
])('$name is filled in', ({ template, values, want }) => {
  expect(filled(template, values)).toEqual(want);
});

test.each([[''], [[]], [{}], [0], [false]])('%j counts as not set, as Helm has it', (x) => {
  expect(filled('a: 1\n#if x\nb: 2\n#end', { x })).toEqual({ a: 1 });
});

test('a hash changes with each of its texts, and shows none', () => {
  const hash = (x: string, y: string) => fillIn(parseTemplate('${x, y | sha256}'), { x, y });
  expect(new Set([hash('a', 'b'), hash('a', 'c'), hash('b', 'b')]).size).toBe(3);
  expect(hash('a', 'b')).toMatch(/^"[0-9a-f]{64}"\n$/);
});

test.each([
  { name: 'a value that nobody gives', template: 'a: ${x}' },
  { name: 'a condition about one', template: '#if x\na: 1\n#end' },
  { name: 'a marker that is none', template: 'a: ${x | upper}' },
  { name: 'a condition without an end', template: '#if x\na: 1' },
])('$name is a mistake of ours', ({ template }) => {
  expect(() => fillIn(parseTemplate(template), {})).toThrow(TypeError);
});
