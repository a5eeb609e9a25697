import {
  type ASTNode,
  Environment,
  type EnvironmentOptions,
  type ParseResult,
  type TypeCheckResult,
  type TypeError as CelTypeError,
} from '@marcbachmann/cel-js';
import { nodesIn } from '../expression-nodes.ts';
import { comprehensionsLibrary } from './comprehensions.ts';
import { conversionsLibrary } from './conversions.ts';
import { formatLibrary } from './format/format-macro.ts';
import { ipAndCidrLibrary } from './ip-and-cidr.ts';
import type { Library } from './library.ts';
import { listsLibrary } from './lists.ts';
import { literalProblem } from './literal-problem.ts';
import { namedFormatsLibrary } from './named-formats.ts';
import { optionalsLibrary } from './optionals.ts';
import { quantityLibrary } from './quantity.ts';
import { regexLibrary } from './regex.ts';
import { callKey, ourName, registerLibraries } from './register-libraries.ts';
import { semverLibrary } from './semver.ts';
import { setsLibrary } from './sets.ts';
import { stringsLibrary } from './strings.ts';
import { urlLibrary } from './url.ts';

const libraries: readonly Library[] = [
  conversionsLibrary,
  stringsLibrary,
  formatLibrary,
  regexLibrary,
  listsLibrary,
  setsLibrary,
  optionalsLibrary,
  comprehensionsLibrary,
  quantityLibrary,
  ipAndCidrLibrary,
  semverLibrary,
  urlLibrary,
  namedFormatsLibrary,
];

/** Registering takes longer than checking a policy; what is made from it has all of it at once. */
const base = new Environment({ enableOptionalTypes: true });
const replaced = registerLibraries(base, libraries);

/** A language in which expressions are checked and evaluated. */
export interface KubernetesEnvironment {
  /** @throws ParseError */
  parse(expression: string): ParseResult;
  /** All mistakes that can be found without values; texts that are no patterns, times or durations too. */
  check(expression: string): TypeCheckResult;
}

/** Sends calls that a library answers instead of the engine to the library. */
function redirectCalls(node: ASTNode): void {
  if (node.op === 'call' || node.op === 'rcall') {
    const [name] = node.args;
    const { length } = node.op === 'call' ? node.args[1] : node.args[2];
    if (replaced.has(callKey({ name, receiver: node.op === 'rcall', count: length })))
      node.args[0] = ourName(name);
  }
  for (const inner of nodesIn(node.args)) redirectCalls(inner);
}

/** An engine with Kubernetes' libraries. What it does otherwise than an API server stands in docs/policy-guide.md. */
export function createKubernetesEnvironment(
  options: EnvironmentOptions,
  declare: (environment: Environment) => void,
): KubernetesEnvironment {
  const environment = base.clone(options);
  declare(environment);

  function parse(expression: string): ParseResult {
    const parsed = environment.parse(expression);
    redirectCalls(parsed.ast);
    return parsed;
  }

  return {
    parse,
    check(expression) {
      try {
        const parsed = parse(expression);
        const checked = parsed.check();
        const error = checked.valid ? literalProblem(parsed.ast, parse) : undefined;
        return error ? { valid: false, error } : checked;
      } catch (error) {
        return { valid: false, error: error as CelTypeError };
      }
    },
  };
}
