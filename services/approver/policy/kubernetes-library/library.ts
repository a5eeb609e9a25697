import { EvaluationError, type RegisteredFunctionHandler } from '@marcbachmann/cel-js';

/** Functions by their signature: `name(type, type): type`, or `receiver.name(type): type`, whose first argument is the receiver. */
export type CelFunctions = Readonly<Record<string, RegisteredFunctionHandler>>;

/** One library of Kubernetes' CEL. Values are the engine's: int is bigint, double is number, a map is a Map or an object. */
export interface Library {
  /** Types that expressions can hold, by their name in CEL, with the class of their values. */
  readonly types?: Readonly<Record<string, new (...parts: never[]) => CelObject>>;
  readonly functions?: CelFunctions;
  /** Functions with a dot in their name, by what stands before it: `sets.contains`. */
  readonly namespaces?: Readonly<Record<string, CelFunctions>>;
  /** Functions that take expressions instead of values. */
  readonly macros?: Readonly<Record<string, RegisteredFunctionHandler>>;
  /** `type == type`, as the engine writes operators. */
  readonly operators?: CelFunctions;
}

/** A value of a type that only Kubernetes has. */
export interface CelObject {
  /** As `==` of CEL has it. */
  equals(other: CelObject): boolean;
}

/**
 * A function could not be evaluated; the request is then held.
 * @throws EvaluationError always
 */
export function fail(message: string): never {
  throw new EvaluationError({ code: 'evaluation_error', message });
}

/** Of CEL's int, which has 64 bits. */
export const largestInt = 2n ** 63n - 1n;

export function isInt(value: bigint): boolean {
  return value >= -largestInt - 1n && value <= largestInt;
}

/** @throws EvaluationError where a number is no int of CEL, which has 64 bits */
export function asInt(value: bigint): bigint {
  return isInt(value) ? value : fail(`integer overflow: ${value}`);
}
