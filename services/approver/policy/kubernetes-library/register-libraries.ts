import { Environment } from '@marcbachmann/cel-js';
import type { CelFunctions, Library } from './library.ts';

/** Before the names of functions that the engine has too, and does not let go of. No expression can write it. */
const ours = 'kubernetes:';

export function ourName(name: string): string {
  return ours + name;
}

/** A name, or a text with names, as people write them. */
export function writtenNames(text: string): string {
  return text.replaceAll(ours, '');
}

interface Signature {
  readonly receiverType?: string;
  readonly name: string;
  readonly params: { readonly type: string }[];
  readonly returnType: string;
}

/** Types in a list, of which `map<string, int>` is one. */
function typesIn(list: string): string[] {
  return list.match(/[^\s,<]+(?:<(?:[^<>]|<[^<>]*>)*>)?/g) ?? [];
}

function readSignature(signature: string): Signature {
  const [, receiverType, name = '', params = '', returnType = ''] =
    /^(?:(.+)\.)?(\w+)\((.*)\): (.+)$/.exec(signature) ?? [];
  return {
    ...(receiverType === undefined ? {} : { receiverType }),
    name,
    params: typesIn(params).map((type) => ({ type })),
    returnType,
  };
}

/** What calls of one name with so many arguments have in common. */
export function callKey({
  name,
  receiver,
  count,
}: {
  name: string;
  receiver: boolean;
  count: number;
}): string {
  return `${receiver ? '.' : ''}${name}/${count}`;
}

/** Every call that the engine answers by itself. */
function callsOfEngine(): Set<string> {
  const { functions } = new Environment().getDefinitions();
  return new Set(
    functions.map(({ name, receiverType, params }) =>
      callKey({ name, receiver: receiverType !== null, count: params.length }),
    ),
  );
}

function registerFunctions(
  environment: Environment,
  functions: CelFunctions,
  ofEngine: ReadonlySet<string>,
): string[] {
  const replaced: string[] = [];
  for (const [signature, handler] of Object.entries(functions)) {
    const read = readSignature(signature);
    const { name, receiverType, params } = read;
    const key = callKey({ name, receiver: receiverType !== undefined, count: params.length });
    const isReplaced = ofEngine.has(key);
    if (isReplaced) replaced.push(key);
    environment.registerFunction({
      ...read,
      name: isReplaced ? ourName(name) : name,
      handler,
      async: false,
    });
  }
  return replaced;
}

/** What stands before the dot of `sets.contains` is a value of a type of its own. */
function registerNamespace(environment: Environment, name: string, functions: CelFunctions): void {
  const receiverType = `Namespace${name}`;
  // oxlint-disable-next-line typescript/no-extraneous-class -- the engine tells values of its types apart by their class
  const Namespace = class {};
  environment.registerType(receiverType, Namespace);
  environment.registerConstant(name, receiverType, new Namespace());
  for (const [signature, handler] of Object.entries(functions)) {
    const call = (_: unknown, ...values: unknown[]): unknown => handler(...values);
    environment.registerFunction({ ...readSignature(signature), receiverType, handler: call, async: false });
  }
}

/**
 * Adds libraries to an engine.
 * @returns the calls that they answer instead of the engine, with all types that they take
 */
export function registerLibraries(
  environment: Environment,
  libraries: readonly Library[],
): ReadonlySet<string> {
  const ofEngine = callsOfEngine();
  // An object without fields: to read one is a mistake that is found before.
  for (const { types } of libraries)
    for (const [name, ctor] of Object.entries(types ?? {}))
      environment.registerType(name, { ctor, fields: {} });
  const replaced = libraries.flatMap(({ functions, operators, macros, namespaces }) => {
    for (const [signature, handler] of Object.entries(operators ?? {}))
      environment.registerOperator(signature, handler);
    for (const [signature, handler] of Object.entries(macros ?? {}))
      environment.registerFunction(signature, handler);
    for (const [name, ofNamespace] of Object.entries(namespaces ?? {}))
      registerNamespace(environment, name, ofNamespace);
    return registerFunctions(environment, functions ?? {}, ofEngine);
  });
  return new Set(replaced);
}
