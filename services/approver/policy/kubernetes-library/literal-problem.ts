import { type ASTNode, type ParseResult, TypeError as CelTypeError } from '@marcbachmann/cel-js';
import { nodesIn } from '../expression-nodes.ts';
import { largestInt } from './library.ts';
import { patternSize } from './pattern-size.ts';
import { patternError } from './regex.ts';
import { writtenNames } from './register-libraries.ts';

const ofPattern = new Set(['matches', 'find', 'findAll']);

/** A pattern that stands in an expression is known before there is a text. */
function patternIn(node: ASTNode): { readonly text: string; readonly node: ASTNode } | undefined {
  if (node.op !== 'rcall' || !ofPattern.has(writtenNames(node.args[0]))) return undefined;
  const [pattern] = node.args[2];
  if (pattern?.op !== 'value' || typeof pattern.args !== 'string') return undefined;
  return { text: pattern.args, node: pattern };
}

function patternProblem(node: ASTNode): CelTypeError | undefined {
  const pattern = patternIn(node);
  const error = pattern && patternError(pattern.text);
  if (!pattern || error === undefined) return undefined;
  const message = `"${pattern.text}" is no pattern: ${error}`;
  return new CelTypeError({ code: 'invalid_text', message, node: pattern.node });
}

/** How large all patterns that stand in an expression are together; none is compiled for it. */
export function sizeOfPatterns(node: ASTNode): number {
  const own = patternSize(patternIn(node)?.text ?? '');
  return nodesIn(node.args).reduce((sum, inner) => sum + sizeOfPatterns(inner), own);
}

const conversions = new Set(['bool', 'bytes', 'double', 'duration', 'int', 'string', 'timestamp', 'uint']);

/** What converts a text or a number that stands there gives the same each time. */
function conversionProblem(
  node: ASTNode,
  parse: (expression: string) => ParseResult,
): CelTypeError | undefined {
  if (node.op !== 'call' || !conversions.has(writtenNames(node.args[0]))) return undefined;
  const [given] = node.args[1];
  const literal = given?.op === '-_' ? given.args : given;
  if (!given || literal?.op !== 'value') return undefined;
  try {
    parse(node.input.slice(node.start, node.end))();
    return undefined;
  } catch (error) {
    const message = (error as CelTypeError).summary;
    return new CelTypeError({ code: 'invalid_text', message, node: given });
  }
}

function numberProblem(node: ASTNode, isNegated: boolean): CelTypeError | undefined {
  if (node.op !== 'value' || typeof node.args !== 'bigint') return undefined;
  if (node.args <= largestInt + (isNegated ? 1n : 0n)) return undefined;
  return new CelTypeError({ code: 'invalid_text', message: `${node.args} has more than 64 bits`, node });
}

/** What is wrong with a text or a number that stands in an expression: the engine finds it when it evaluates, an API server before. */
export function literalProblem(
  node: ASTNode,
  parse: (expression: string) => ParseResult,
  isNegated = false,
): CelTypeError | undefined {
  const own = patternProblem(node) ?? conversionProblem(node, parse) ?? numberProblem(node, isNegated);
  if (own) return own;
  for (const inner of nodesIn(node.args)) {
    const problem = literalProblem(inner, parse, node.op === '-_');
    if (problem) return problem;
  }
  return undefined;
}
