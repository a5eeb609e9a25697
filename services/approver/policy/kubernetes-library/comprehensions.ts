import type { ASTNode, TypeDeclaration } from '@marcbachmann/cel-js';
import { valuesAreEqual, entriesOf, isMap } from './compare-values.ts';
import { fail, type Library } from './library.ts';
import { sortedBy } from './lists.ts';
import type { Checker, Context, Evaluator, Macro, MacroCall, Scope } from './macro.ts';

/** What a loop does with each element of a list or a map. */
interface LoopBody {
  /** How many of the expressions behind the names there are: a filter and a transformation, or only the latter. */
  readonly result: (checker: Checker, types: { key: TypeDeclaration; step: TypeDeclaration }) => TypeDeclaration;
  readonly stepIsBool: boolean;
  run(rounds: Iterable<Round>): unknown;
}

/** One element: its key, whether the filter lets it in, and what the expression gives for it. */
interface Round {
  readonly key: unknown;
  isIn(): boolean;
  step(): unknown;
}

/** The keys and the elements, as two names stand for them; one name stands for the element of a list and the key of a map. */
function roundsOf(value: unknown, names: number): [key: unknown, element: unknown][] {
  if (Array.isArray(value)) return value.map((element: unknown, index) => [BigInt(index), element]);
  if (!isMap(value)) return fail('only lists and maps can be gone through');
  return names === 2 ? entriesOf(value) : entriesOf(value).map(([key]) => [key, key]);
}

function elementTypes(checker: Checker, type: TypeDeclaration, node: ASTNode): [TypeDeclaration, TypeDeclaration] {
  const dyn = checker.getType('dyn');
  if (type.kind === 'dyn') return [dyn, dyn];
  if (type.kind === 'list') return [checker.getType('int'), type.valueType ?? dyn];
  if (type.kind === 'map') return [type.keyType ?? dyn, type.valueType ?? dyn];
  const message = `${checker.formatType(type)} is no list and no map: nothing to go through`;
  throw checker.createError('invalid_comprehension_range', message, node);
}

function nameOf(node: ASTNode | undefined): string {
  return node?.op === 'id' ? node.args : '';
}

function mustBeBool(checker: Checker, type: TypeDeclaration, node: ASTNode): void {
  if (type.kind === 'dyn' || type.name === 'bool') return;
  const message = `the condition of a loop must be bool, got '${checker.formatType(type)}'`;
  throw checker.createError('invalid_condition_type', message, node);
}

function asBool(value: unknown): boolean {
  return typeof value === 'boolean' ? value : fail('the condition of a loop is no bool');
}

/** A loop over a list or a map with names for its key and its element. */
function loop(names: 1 | 2, body: LoopBody): (call: MacroCall) => Macro {
  return ({ receiver, args }) => {
    const expressions = args.slice(names);
    const filter = expressions.length === 2 ? expressions[0] : undefined;
    const step = expressions.at(-1) as ASTNode;
    let outer: Scope | undefined;
    let inner: Scope | undefined;

    function* rounds(evaluator: Evaluator, context: Context): Generator<Round> {
      const around = names === 2 ? outer?.reuse(context) : undefined;
      const scope = inner?.reuse(around ?? context);
      for (const [key, element] of roundsOf(evaluator.run(receiver, context), names)) {
        if (!scope) return;
        around?.setIterValue(key, evaluator);
        scope.setIterValue(element, evaluator);
        yield {
          key,
          isIn: () => filter === undefined || asBool(evaluator.run(filter, scope)),
          step: () => evaluator.run(step, scope),
        };
      }
    }

    return {
      async: false,
      typeCheck(checker, _macro, context) {
        const type = checker.check(receiver, context);
        const [key, element] = elementTypes(checker, type, receiver);
        const found = args.slice(0, names).find((node) => node.op !== 'id');
        if (found) throw checker.createError('invalid_macro_argument', 'a loop begins with a name', found);
        if (names === 2 && nameOf(args[0]) === nameOf(args[1]) && args[1])
          throw checker.createError('invalid_macro_argument', 'both names of a loop are the same', args[1]);
        outer = names === 2 ? (context.forkWithVariable(nameOf(args[0]), key) as Scope) : undefined;
        const last = nameOf(args[names - 1]);
        const ofLast = names === 1 && type.kind === 'map' ? key : element;
        inner = (outer ?? context).forkWithVariable(last, ofLast) as Scope;
        if (filter) mustBeBool(checker, checker.check(filter, inner), filter);
        const ofStep = checker.check(step, inner);
        if (body.stepIsBool) mustBeBool(checker, ofStep, step);
        return body.result(checker, { key, step: ofStep });
      },
      evaluate: (evaluator, _macro, context) => body.run(rounds(evaluator, context)),
    };
  };
}

/** Ends at the first element that decides; what could not be evaluated counts only where nothing decides. */
function quantifier(decides: boolean): LoopBody {
  return {
    stepIsBool: true,
    result: (checker) => checker.getType('bool'),
    run(rounds) {
      let error: unknown;
      for (const round of rounds) {
        try {
          if (asBool(round.step()) === decides) return decides;
        } catch (thrown) {
          error ??= thrown;
        }
      }
      if (error !== undefined) throw error;
      return !decides;
    },
  };
}

const existsOne: LoopBody = {
  stepIsBool: true,
  result: (checker) => checker.getType('bool'),
  run: (rounds) => [...Iterator.from(rounds).filter((round) => asBool(round.step()))].length === 1,
};

const transformList: LoopBody = {
  stepIsBool: false,
  result: (checker, { step }) => checker.registry.getListType(step),
  run: (rounds) =>
    [...Iterator.from(rounds).flatMap((round) => (round.isIn() ? [round.step()] : []))],
};

/** @throws EvaluationError where a key is there already */
function insert(map: Map<unknown, unknown>, key: unknown, value: unknown): void {
  if ([...map.keys()].some((other) => valuesAreEqual(other, key))) fail('a key of the map is there twice');
  map.set(key, value);
}

const transformMap: LoopBody = {
  stepIsBool: false,
  result: (checker, { key, step }) => checker.registry.getMapType(key, step),
  run(rounds) {
    const map = new Map<unknown, unknown>();
    for (const round of rounds) if (round.isIn()) insert(map, round.key, round.step());
    return map;
  },
};

const transformMapEntry: LoopBody = {
  stepIsBool: false,
  result: (_checker, { step }) => step,
  run(rounds) {
    const map = new Map<unknown, unknown>();
    for (const round of rounds) {
      const entry = round.isIn() ? round.step() : new Map();
      if (!isMap(entry)) return fail('transformMapEntry takes a map of one entry');
      for (const [key, value] of entriesOf(entry)) insert(map, key, value);
    }
    return map;
  },
};

const ordered = new Set(['int', 'uint', 'double', 'bool', 'string', 'bytes', 'dyn']);
const orderedTimes = new Set(['google.protobuf.Duration', 'google.protobuf.Timestamp']);

/** `list.sortBy(element, key)` */
function sortBy({ receiver, args: [name, key] }: MacroCall): Macro {
  let scope: Scope | undefined;
  return {
    async: false,
    typeCheck(checker, _macro, context) {
      const type = checker.check(receiver, context);
      const [, element] = elementTypes(checker, type, receiver);
      if (!key || name?.op !== 'id' || type.kind === 'map')
        throw checker.createError('invalid_macro_argument', 'sortBy takes a list, a name and a key', receiver);
      scope = context.forkWithVariable(name.args, element) as Scope;
      const ofKey = checker.check(key, scope);
      if (!ordered.has(ofKey.name) && !orderedTimes.has(ofKey.name) && ofKey.kind !== 'dyn' && ofKey.kind !== 'param')
        throw checker.createError('no_matching_overload', `values of '${ofKey.name}' have no order`, key);
      return type;
    },
    evaluate(evaluator, _macro, context) {
      const list = evaluator.run(receiver, context);
      if (!Array.isArray(list)) return fail('sortBy takes a list');
      const inner = scope?.reuse(context);
      if (!inner || !key) return list;
      const keys = list.map((element: unknown) => evaluator.run(key, inner.setIterValue(element, evaluator)));
      return sortedBy(list, keys);
    },
  };
}

/** Loops with two names, for key and element, and those that CEL got later than `map` and `filter`. */
export const comprehensionsLibrary: Library = {
  macros: {
    'list<dyn>.existsOne(ast, ast): bool': loop(1, existsOne),
    'list<dyn>.all(ast, ast, ast): bool': loop(2, quantifier(false)),
    'list<dyn>.exists(ast, ast, ast): bool': loop(2, quantifier(true)),
    'list<dyn>.existsOne(ast, ast, ast): bool': loop(2, existsOne),
    'list<dyn>.exists_one(ast, ast, ast): bool': loop(2, existsOne),
    'list<dyn>.transformList(ast, ast, ast): list<dyn>': loop(2, transformList),
    'list<dyn>.transformList(ast, ast, ast, ast): list<dyn>': loop(2, transformList),
    'list<dyn>.transformMap(ast, ast, ast): dyn': loop(2, transformMap),
    'list<dyn>.transformMap(ast, ast, ast, ast): dyn': loop(2, transformMap),
    'list<dyn>.transformMapEntry(ast, ast, ast): dyn': loop(2, transformMapEntry),
    'list<dyn>.transformMapEntry(ast, ast, ast, ast): dyn': loop(2, transformMapEntry),
    'list<dyn>.sortBy(ast, ast): list<dyn>': sortBy,
  },
};
