import { Optional } from '@marcbachmann/cel-js';
import { Duration } from '@marcbachmann/cel-js/evaluator';
import { entriesOf, isMap, valuesAreEqual } from './compare-values.ts';
import { fail, type Library } from './library.ts';
import type { Macro, MacroCall, Scope } from './macro.ts';

type List = readonly unknown[];

/** What a value is that nobody has set. */
function isZero(value: unknown): boolean {
  if (typeof value === 'string' || Array.isArray(value) || value instanceof Uint8Array)
    return value.length === 0;
  if (value === null || value === false) return true;
  if (value instanceof Duration) return value.seconds === 0n && value.nanos === 0;
  return isMap(value) ? entriesOf(value).length === 0 : valuesAreEqual(value, 0n);
}

function at(index: number): (list: List) => Optional {
  return (list) => (list.length === 0 ? Optional.none() : Optional.of(list.at(index)));
}

function unwrap(list: List): unknown[] {
  return list.flatMap((item) => {
    if (!(item instanceof Optional)) return fail('unwrap takes a list of optional values');
    return item.hasValue() ? [item.value()] : [];
  });
}

/** @param isFlat - whether the expression gives an optional value itself */
function optionalMap(isFlat: boolean): (call: MacroCall) => Macro {
  return ({ receiver, args: [name, transform] }) => {
    let scope: Scope | undefined;
    return {
      async: false,
      typeCheck(checker, _macro, context) {
        const type = checker.check(receiver, context);
        const dyn = checker.getType('dyn');
        if (!transform || name?.op !== 'id')
          throw checker.createError('invalid_macro_argument', 'expected a name and an expression', receiver);
        if (type.kind !== 'optional' && type.kind !== 'dyn')
          throw checker.createError(
            'optional_expected',
            `'${checker.formatType(type)}' is not optional`,
            receiver,
          );
        scope = context.forkWithVariable(name.args, type.valueType ?? dyn) as Scope;
        const result = checker.check(transform, scope);
        if (!isFlat) return checker.registry.getOptionalType(result);
        if (result.kind !== 'optional' && result.kind !== 'dyn')
          throw checker.createError(
            'optional_expected',
            `'${checker.formatType(result)}' is not optional`,
            transform,
          );
        return result;
      },
      evaluate(evaluator, _macro, context) {
        const optional = evaluator.run(receiver, context);
        if (!(optional instanceof Optional)) return fail('the value is not optional');
        const inner = scope?.reuse(context);
        if (!optional.hasValue() || !inner || !transform) return Optional.none();
        const result = evaluator.run(transform, inner.setIterValue(optional.value(), evaluator));
        return isFlat ? result : Optional.of(result);
      },
    };
  };
}

/** What the engine's own optional values do not have. */
export const optionalsLibrary: Library = {
  operators: { 'optional<A> == optional<A>': valuesAreEqual },
  functions: {
    'OptionalNamespace.ofNonZeroValue(A): optional<A>': (_: unknown, value: unknown) =>
      isZero(value) ? Optional.none() : Optional.of(value),
    'OptionalNamespace.unwrap(list<optional<A>>): list<A>': (_: unknown, list: List) => unwrap(list),
    'list<optional<A>>.unwrapOpt(): list<A>': unwrap,
    'list<A>.first(): optional<A>': at(0),
    'list<A>.last(): optional<A>': at(-1),
  },
  macros: {
    'optional.optMap(ast, ast): optional<dyn>': optionalMap(false),
    'optional.optFlatMap(ast, ast): optional<dyn>': optionalMap(true),
  },
};
