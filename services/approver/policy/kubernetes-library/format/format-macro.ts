import type { ASTNode, TypeDeclaration } from '@marcbachmann/cel-js';
import { formatProblem, formatText } from './format-text.ts';
import { fail, type Library } from '../library.ts';
import type { Checker, Context, Macro, MacroCall } from '../macro.ts';

function mustBe(kind: 'string' | 'list', checker: Checker, type: TypeDeclaration, node: ASTNode): void {
  if (type.kind === 'dyn' || type.name === kind || type.kind === kind) return;
  const message = `format takes a text and a list, got '${checker.formatType(type)}'`;
  throw checker.createError('no_matching_overload', message, node);
}

/** As the types of values are told apart while they are formatted. */
function nameOf(type: TypeDeclaration): string {
  return type.kind === 'list' || type.kind === 'map' || type.kind === 'dyn' ? type.kind : type.name;
}

/** Lists and maps among the values may be of several types too. */
function relaxed(checker: Checker): Checker {
  const opts = { ...checker.opts, homogeneousAggregateLiterals: false };
  return Object.create(checker, { opts: { value: opts } }) as Checker;
}

function checkValues(checker: Checker, context: Context, text: ASTNode, values: readonly ASTNode[]): void {
  const types = values.map((value) => nameOf(relaxed(checker).check(value, context)));
  if (text.op !== 'value' || typeof text.args !== 'string') return;
  const problem = formatProblem(text.args, types);
  if (problem !== undefined) throw checker.createError('invalid_format', problem, text);
}

/** `format`: alone among lists, the one that is written in its brackets may hold values of several types. */
function format({ receiver, args }: MacroCall): Macro {
  const [list] = args as [ASTNode];
  const values = list.op === 'list' ? list.args : undefined;
  return {
    async: false,
    typeCheck(checker, _macro, context) {
      mustBe('string', checker, checker.check(receiver, context), receiver);
      if (values) checkValues(checker, context, receiver, values);
      else mustBe('list', checker, checker.check(list, context), list);
      return checker.getType('string');
    },
    evaluate(evaluator, _macro, context) {
      const text = evaluator.run(receiver, context);
      const given = values?.map((value) => evaluator.run(value, context)) ?? evaluator.run(list, context);
      if (typeof text !== 'string' || !Array.isArray(given)) return fail('format takes a text and a list');
      return formatText(text, given);
    },
  };
}

export const formatLibrary: Library = { macros: { 'string.format(ast): string': format } };
