import type { ASTNode, TypeDeclaration } from '@marcbachmann/cel-js';
import { valuesAreEqual, entriesOf, isMap } from './compare-values.ts';
import { fail, type Library } from './library.ts';
import { sortedBy } from './lists.ts';
import type { Checker, Context, Evaluator, Macro, MacroCall, Scope } from './macro.ts';

/** What a loop does with each element of a list or a map. */
interface LoopBody {
  /**
   * @param types.step - of the last expression, which `types.node` is
   * @throws TypeError of the engine, where that expression is of another type than the loop takes
   */
  result(
    checker: Checker,
    types: { key: TypeDeclaration; step: TypeDeclaration; node: ASTNode },
  ): TypeDeclaration;
  run(rounds: Iterable<Round>): unknown;
}

/** One element: its key, whether the filter lets it in, and what the expression gives for it. */
interface Round {
  readonly key: unknown;
  isIn(): boolean;
  step(): unknown;
}

/** The keys and the elements, which the two names stand for. */
function elementsOf(value: unknown): [key: unknown, element: unknown][] {
  if (Array.isArray(value)) return value.map((element: unknown, index) => [BigInt(index), element]);
  return isMap(value) ? entriesOf(value) : fail('only lists and maps can be gone through');
}

function elementTypes(
  checker: Checker,
  type: TypeDeclaration,
  node: ASTNode,
): [TypeDeclaration, TypeDeclaration] {
  const dyn = checker.getType('dyn');
  if (type.kind === 'dyn') return [dyn, dyn];
  if (type.kind === 'list') return [checker.getType('int'), type.valueType ?? dyn];
  if (type.kind === 'map') return [type.keyType ?? dyn, type.valueType ?? dyn];
  const message = `${checker.formatType(type)} is no list and no map: nothing to go through`;
  throw checker.createError('invalid_comprehension_range', message, node);
}

function mustBeBool(checker: Checker, type: TypeDeclaration, node: ASTNode): void {
  if (type.kind === 'dyn' || type.name === 'bool') return;
  const message = `the condition of a loop must be bool, got '${checker.formatType(type)}'`;
  throw checker.createError('invalid_condition_type', message, node);
}

function boolResult(checker: Checker, { step, node }: { step: TypeDeclaration; node: ASTNode }) {
  mustBeBool(checker, step, node);
  return checker.getType('bool');
}

function asBool(value: unknown): boolean {
  return typeof value === 'boolean' ? value : fail('the condition of a loop is no bool');
}

/** A loop over a list or a map with names for its key and its element. */
function loop(body: LoopBody): (call: MacroCall) => Macro {
  return ({ receiver, args }) => {
    const [keyNode, elementNode] = args as [ASTNode, ASTNode];
    const filter = args.length === 4 ? args[2] : undefined;
    const step = args.at(-1) as ASTNode;
    let scopes: { outer: Scope; inner: Scope } | undefined;

    function* rounds(evaluator: Evaluator, context: Context): Generator<Round> {
      const elements = elementsOf(evaluator.run(receiver, context));
      const outer = scopes?.outer.reuse(context);
      const inner = outer && scopes?.inner.reuse(outer);
      if (!outer || !inner) return;
      for (const [key, element] of elements) {
        outer.setIterValue(key, evaluator);
        inner.setIterValue(element, evaluator);
        yield {
          key,
          isIn: () => filter === undefined || asBool(evaluator.run(filter, inner)),
          step: () => evaluator.run(step, inner),
        };
      }
    }

    return {
      async: false,
      typeCheck(checker, _macro, context) {
        const [key, element] = elementTypes(checker, checker.check(receiver, context), receiver);
        const refuse = (message: string, node: ASTNode) =>
          checker.createError('invalid_macro_argument', message, node);
        if (keyNode.op !== 'id') throw refuse('a loop begins with a name', keyNode);
        if (elementNode.op !== 'id') throw refuse('a loop begins with two names', elementNode);
        if (keyNode.args === elementNode.args) throw refuse('both names of a loop are the same', elementNode);
        const outer = context.forkWithVariable(keyNode.args, key) as Scope;
        const inner = outer.forkWithVariable(elementNode.args, element) as Scope;
        scopes = { outer, inner };
        if (filter) mustBeBool(checker, checker.check(filter, inner), filter);
        return body.result(checker, { key, step: checker.check(step, inner), node: step });
      },
      evaluate: (evaluator, _macro, context) => body.run(rounds(evaluator, context)),
    };
  };
}

/** Ends at the first element that decides; what could not be evaluated counts only where nothing decides. */
function quantifier(decides: boolean): LoopBody {
  return {
    result: boolResult,
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
  result: boolResult,
  run: (rounds) =>
    Iterator.from(rounds)
      .filter((round) => asBool(round.step()))
      .toArray().length === 1,
};

const transformList: LoopBody = {
  result: (checker, { step }) => checker.registry.getListType(step),
  run: (rounds) =>
    Iterator.from(rounds)
      .filter((round) => round.isIn())
      .map((round) => round.step())
      .toArray(),
};

/** @throws EvaluationError where a key is there already */
function insert(map: Map<unknown, unknown>, key: unknown, value: unknown): void {
  if ([...map.keys()].some((other) => valuesAreEqual(other, key))) fail('a key of the map is there twice');
  map.set(key, value);
}

const transformMap: LoopBody = {
  result: (checker, { key, step }) => checker.registry.getMapType(key, step),
  run(rounds) {
    const map = new Map<unknown, unknown>();
    for (const round of rounds) if (round.isIn()) insert(map, round.key, round.step());
    return map;
  },
};

const transformMapEntry: LoopBody = {
  result(checker, { step, node }) {
    if (step.kind === 'map' || step.kind === 'dyn') return step;
    throw checker.createError('no_matching_overload', 'transformMapEntry takes a map of one entry', node);
  },
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
        throw checker.createError(
          'invalid_macro_argument',
          'sortBy takes a list, a name and a key',
          receiver,
        );
      scope = context.forkWithVariable(name.args, element) as Scope;
      const ofKey = checker.check(key, scope);
      if (
        !ordered.has(ofKey.name) &&
        !orderedTimes.has(ofKey.name) &&
        ofKey.kind !== 'dyn' &&
        ofKey.kind !== 'param'
      )
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
    'list<dyn>.all(ast, ast, ast): bool': loop(quantifier(false)),
    'list<dyn>.exists(ast, ast, ast): bool': loop(quantifier(true)),
    'list<dyn>.existsOne(ast, ast, ast): bool': loop(existsOne),
    'list<dyn>.exists_one(ast, ast, ast): bool': loop(existsOne),
    'list<dyn>.transformList(ast, ast, ast): list<dyn>': loop(transformList),
    'list<dyn>.transformList(ast, ast, ast, ast): list<dyn>': loop(transformList),
    'list<dyn>.transformMap(ast, ast, ast): dyn': loop(transformMap),
    'list<dyn>.transformMap(ast, ast, ast, ast): dyn': loop(transformMap),
    'list<dyn>.transformMapEntry(ast, ast, ast): dyn': loop(transformMapEntry),
    'list<dyn>.transformMapEntry(ast, ast, ast, ast): dyn': loop(transformMapEntry),
    'list<dyn>.sortBy(ast, ast): list<dyn>': sortBy,
  },
};
