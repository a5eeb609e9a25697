import { readFileSync } from 'node:fs';
import { yamlTooDeep } from '@rollcall/shared/config';
import { RollcallError } from '@rollcall/shared/errors';
import { LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import { offsetOf } from '../yaml-place.ts';
import { type Scenario, scenarioSchema } from './scenario.ts';

/** More is no scenario. */
const maxChars = 1_048_576;

export interface ScenarioProblem {
  /** From 1. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** A key that does not exist, or one that stands in the wrong place, is pointed at itself; all else at its value. */
function placesOf(issue: z.core.$ZodIssue): { path: (string | number)[]; atKey: boolean; message: string }[] {
  const path = issue.path.filter((part) => typeof part !== 'symbol');
  const field = path.findLast((part) => typeof part === 'string');
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({
      path: [...path, key],
      atKey: true,
      message: `there is no field "${key}" here`,
    }));
  const message = field === undefined ? issue.message : `${field}: ${issue.message}`;
  return [{ path, atKey: issue.code === 'invalid_key', message }];
}

/** @returns the scenario, or everything that is wrong with the text, in its order */
export function parseScenario(text: string): { scenario: Scenario } | { problems: ScenarioProblem[] } {
  const counter = new LineCounter();
  const at = (offset: number) => {
    const { line, col } = counter.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const bound = text.length > maxChars ? `it is longer than ${maxChars} characters` : yamlTooDeep(text);
  if (bound !== undefined) return { problems: [{ line: 1, column: 1, message: bound }] };
  const document = parseDocument(text, { lineCounter: counter, logLevel: 'error' });
  const [broken] = document.errors;
  if (broken) {
    const message = broken.message.split('\n')[0]?.replace(/ at line.*$/, '') ?? '';
    return { problems: [{ ...at(broken.pos[0]), message }] };
  }
  let content: unknown;
  try {
    content = document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    return { problems: [{ line: 1, column: 1, message: (error as Error).message }] };
  }
  const parsed = scenarioSchema.safeParse(content);
  if (parsed.success) return { scenario: parsed.data };
  const problems = parsed.error.issues
    .flatMap(placesOf)
    .map(({ path, atKey, message }) => ({ ...at(offsetOf(document, path, atKey)), message }));
  return { problems: problems.toSorted((a, b) => a.line - b.line || a.column - b.column) };
}

/**
 * Reads a scenario.
 * @throws RollcallError USAGE where the file cannot be read; SCENARIO_INVALID with `FILE:LINE:COLUMN` and what was expected, of
 *   every mistake in it
 */
export function readScenario(path: string): Scenario {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new RollcallError('USAGE', `cannot read "${path}"`, { cause });
  }
  const found = parseScenario(text);
  if ('scenario' in found) return found.scenario;
  const lines = found.problems.map(({ line, column, message }) => `${path}:${line}:${column}: ${message}`);
  throw new RollcallError('SCENARIO_INVALID', `"${path}" is no scenario\n${lines.join('\n')}`);
}
