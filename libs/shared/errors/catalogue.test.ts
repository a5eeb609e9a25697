import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agentErrors } from './agent-errors.ts';
import { busErrors } from './bus-errors.ts';
import { operatorErrors } from './operator-errors.ts';
import { serviceErrors } from './service-errors.ts';
import { errorCatalogue, type ErrorCode, isErrorCode, RollcallError, toRollcallError } from './index.ts';

const root = join(import.meta.dirname, '../../..');

function sourceFiles(): string[] {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.ts'], { cwd: root });
  return listed
    .toString()
    .split('\n')
    .filter((path) => path !== '' && !path.endsWith('.test.ts') && !/(^|\/)tests?\//.test(path))
    .filter((path) => !/^libs\/shared\/errors\/(?:agent|bus|operator|service)-errors\.ts$/.test(path));
}

function readIfThere(path: string): string {
  try {
    return readFileSync(join(root, path), 'utf8');
  } catch {
    return '';
  }
}

test('every code says what to do, and is used somewhere', () => {
  const source = sourceFiles().map(readIfThere).join('\n');
  const dead = Object.keys(errorCatalogue).filter((code) => !source.includes(`'${code}'`));
  expect(dead).toEqual([]);
  for (const { hint } of Object.values(errorCatalogue)) expect(hint).toMatch(/^[A-Z].{10,}[.]$/s);
});

test('no code stands in two tables', () => {
  const tables = [operatorErrors, busErrors, agentErrors, serviceErrors];
  const codes = tables.flatMap((table) => Object.keys(table));
  expect(Object.keys(errorCatalogue)).toEqual(codes);
});

test('an error says its code, hint and whether trying again can help', () => {
  const cause = new Error('x');
  const error = new RollcallError('HUB_BUSY', 'too many requests', { cause });
  expect(error).toMatchObject({ code: 'HUB_BUSY', retry: true, hint: errorCatalogue.HUB_BUSY.hint, cause });
});

test.each([
  { name: 'an error', thrown: new TypeError('x is undefined'), message: 'x is undefined' },
  { name: 'a text', thrown: 'text', message: 'text' },
  { name: 'nothing', thrown: undefined, message: 'undefined' },
])('whatever else is thrown is a bug of ours: $name', ({ thrown, message }) => {
  expect(toRollcallError(thrown)).toMatchObject({ code: 'UNEXPECTED', message, cause: thrown });
});

test('our own errors stay what they are', () => {
  const error = new RollcallError('NOT_FOUND', 'x');
  expect(toRollcallError(error)).toBe(error);
});

test('codes of a newer hub are told apart, and names of every object are none', () => {
  const code: ErrorCode = 'NAME_TAKEN';
  expect(isErrorCode(code)).toBe(true);
  expect(['SOMETHING_NEWER', 'toString', '__proto__'].map(isErrorCode)).toEqual([false, false, false]);
});
