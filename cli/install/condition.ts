type Values = Readonly<Record<string, unknown>>;

/** What can be asked of values, in manifests (`#if …`) and in the rules of values. */
export interface Condition {
  readonly path: string;
  readonly isNegated: boolean;
  /** It is just one of these words, or what stands in another place; neither: it is set. */
  readonly is?: readonly string[];
  readonly equals?: string;
}

const pattern = /^(not )?([\w.-]+)(?: is ([\w-]+(?: or [\w-]+)*)| equals ([\w.-]+))?$/;

/** @returns undefined for what is no condition */
export function parseCondition(text: string): Condition | undefined {
  const found = pattern.exec(text);
  if (!found) return undefined;
  const [, not, path = '', words, equals] = found;
  return {
    path,
    isNegated: not !== undefined,
    ...(words === undefined ? {} : { is: words.split(' or ') }),
    ...(equals === undefined ? {} : { equals }),
  };
}

/** @throws TypeError where nobody gives it */
export function valueAt(values: Values, path: string): unknown {
  let value: unknown = values;
  for (const key of path.split('.')) {
    value = typeof value === 'object' && value !== null ? (value as Values)[key] : undefined;
  }
  if (value === undefined) throw new TypeError(`"${path}" is asked for, which nobody fills in`);
  return value;
}

/** As Helm's `if` sees it, so that both show the same lines. */
function isSet(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

export function holds({ path, isNegated, is, equals }: Condition, values: Values): boolean {
  const value = valueAt(values, path);
  const words = equals === undefined ? is : [String(valueAt(values, equals))];
  return (words === undefined ? isSet(value) : words.includes(String(value))) !== isNegated;
}
