import type { ParseError, TypeError as CelTypeError } from '@marcbachmann/cel-js';
import { writtenNames } from './kubernetes-library/register-libraries.ts';
import { policyRoots } from './policy-environment.ts';
import { parserLimits } from './policy-limits.ts';
import type { ExpressionUse } from './read-expression.ts';

const rootNames = Object.keys(policyRoots);

/** Number of single-letter changes between two words. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...b].entries()) {
      const kept = (row[j] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(kept, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** What there is instead of a name that does not exist, with the likeliest first where one is close. */
function instead(name: string, known: readonly string[]): string {
  const [best] = known.toSorted((a, b) => distance(name, a) - distance(name, b));
  const guess = best !== undefined && distance(name, best) <= 2 ? `did you mean "${best}"? ` : '';
  return `${guess}expected one of ${known.join(', ')}`;
}

export function unknownFieldText(root: keyof typeof policyRoots, field: string): string {
  return `${root} has no field "${field}": ${instead(field, Object.keys(policyRoots[root]))}`;
}

const limitTexts: Readonly<Record<string, string>> = {
  maxDepth: `the expression is nested deeper than ${parserLimits.maxDepth} levels`,
  maxAstNodes: `the expression has more than ${parserLimits.maxAstNodes} parts`,
  maxListElements: `a list in the expression has more than ${parserLimits.maxListElements} elements`,
  maxMapEntries: `a map in the expression has more than ${parserLimits.maxMapEntries} entries`,
  maxCallArguments: `a call in the expression has more than ${parserLimits.maxCallArguments} arguments`,
};

/** What is wrong and what was expected, from what the library says by code. */
export function problemText(error: ParseError | CelTypeError, use: ExpressionUse | undefined): string {
  const { code, summary } = error;
  const said = /'([^']*)'/.exec(summary)?.[1];
  switch (code) {
    case 'unexpected_token':
      return summary.endsWith('EOF')
        ? 'the expression ends too early: expected a value'
        : `${summary}: expected a value`;
    case 'expected_token':
      return tokenText(summary);
    case 'unexpected_character':
      return `${summary}: expected an operator such as &&, ||, ==, or the end of the expression`;
    case 'unterminated_string':
      return 'a text has no closing quote';
    case 'unknown_variable': {
      const name = summary.replace('Unknown variable: ', '');
      return `there is no "${name}": ${instead(name, rootNames)}`;
    }
    case 'no_such_key': {
      const field = summary.replace('No such key: ', '');
      const read = use?.reads.find((one) => one.field === field && one.offset === error.range?.start);
      return read ? unknownFieldText(read.root, field) : summary;
    }
    case 'invalid_logical_operand':
      return `&& and || need true or false (bool) on both sides, got ${said ?? 'something else'}`;
    case 'no_such_overload':
      return `${summary}: expected two values of one type that it works on`;
    case 'no_matching_overload':
      return `there is no function ${writtenNames(said ?? '').replaceAll('$', '')}: expected another name, or arguments of other types`;
    case 'limit_exceeded':
      return limitTexts[/max\w+/.exec(summary)?.[0] ?? ''] ?? summary;
    default:
      return summary;
  }
}

const tokenNames: Readonly<Record<string, string>> = {
  RPAREN: '")"',
  RBRACKET: '"]"',
  RBRACE: '"}"',
  LPAREN: '"("',
  COLON: '":"',
  COMMA: '","',
  IDENTIFIER: 'a name',
  EOF: 'the end of the expression',
};

function tokenText(summary: string): string {
  const [, expected = '', got = ''] = /Expected (\w+), got (\w+)/.exec(summary) ?? [];
  return expected === ''
    ? summary
    : `expected ${tokenNames[expected] ?? expected}, got ${tokenNames[got] ?? got}`;
}
