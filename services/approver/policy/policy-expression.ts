import type { ASTNode, Environment } from '@marcbachmann/cel-js';
import { policyRoots } from './policy-environment.ts';

export type RootName = keyof typeof policyRoots;

/** What an expression reads and does, found without evaluating it. */
export interface ExpressionUse {
  /** `token.valid`, `request.labels`; a root by its name alone where no field is named. */
  readonly reads: readonly {
    readonly root: RootName;
    readonly field: string | undefined;
    readonly offset: number;
  }[];
  /** What is read on each way to `true`: `a || b` has two. */
  ways(): readonly ReadonlySet<RootName>[];
  /** How deep `all`, `exists`, `map`, `filter` and the like stand within each other. */
  readonly loopDepth: number;
  /** Patterns that stand in the expression itself, as `matches` takes them. */
  readonly patterns: readonly { readonly pattern: string; readonly offset: number }[];
}

const loops = new Set([
  'all',
  'exists',
  'exists_one',
  'existsOne',
  'map',
  'filter',
  'transformList',
  'transformMap',
]);

function isNode(value: unknown): value is ASTNode {
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value;
}

function isRoot(name: string): name is RootName {
  return Object.hasOwn(policyRoots, name);
}

/** Nodes below a node, however deep its arguments are nested in lists. */
function children(args: unknown): ASTNode[] {
  if (isNode(args)) return [args];
  return Array.isArray(args) ? args.flatMap(children) : [];
}

/** Where an expression gives a name of its own: the node of the name, the name, and what is under it. */
interface Scope {
  readonly at: ASTNode;
  readonly name: string;
  readonly inside: readonly ASTNode[];
}

function scopeOf(node: ASTNode): Scope | undefined {
  if (node.op !== 'rcall') return undefined;
  const [method, receiver, [at, ...rest]] = node.args;
  if (at?.op !== 'id') return undefined;
  if (loops.has(method)) return { at, name: at.args, inside: rest };
  const isBind = method === 'bind' && receiver.op === 'id' && receiver.args === 'cel';
  return isBind ? { at, name: at.args, inside: rest.slice(1) } : undefined;
}

/** More than a person writes; what has more is taken as one way. */
const mostWays = 64;

function waysOf(node: ASTNode, rootsIn: (node: ASTNode) => ReadonlySet<RootName>): ReadonlySet<RootName>[] {
  if (node.op !== '||' && node.op !== '&&') return [rootsIn(node)];
  const [left, right] = [waysOf(node.args[0], rootsIn), waysOf(node.args[1], rootsIn)];
  const ways =
    node.op === '||' ? [...left, ...right] : left.flatMap((one) => right.map((other) => one.union(other)));
  return ways.length > mostWays ? [rootsIn(node)] : ways;
}

/** @throws the ParseError of the library */
export function readExpression(environment: Environment, expression: string): ExpressionUse {
  const reads: { root: RootName; field: string | undefined; offset: number }[] = [];
  const patterns: { pattern: string; offset: number }[] = [];
  let loopDepth = 0;

  function visit(node: ASTNode, depth: number, named: ReadonlySet<string>): void {
    const isRead = (name: string): name is RootName => isRoot(name) && !named.has(name);
    loopDepth = Math.max(loopDepth, depth);
    if (node.op === 'id' && isRead(node.args))
      reads.push({ root: node.args, field: undefined, offset: node.start });
    if (node.op === '.' || node.op === '.?') {
      const [of, field] = node.args;
      if (of.op === 'id' && isRead(of.args)) {
        reads.push({ root: of.args, field, offset: node.end - field.length });
        return;
      }
    }
    if (node.op === 'rcall' && node.args[0] === 'matches') {
      const [pattern] = node.args[2];
      if (pattern?.op === 'value' && typeof pattern.args === 'string')
        patterns.push({ pattern: pattern.args, offset: pattern.start });
    }
    const inner = node.op === 'rcall' && loops.has(node.args[0]) ? depth + 1 : depth;
    const scope = scopeOf(node);
    // What a root is called inside of a loop over something else is not that root.
    const within = scope ? new Set([...named, scope.name]) : named;
    for (const child of children(node.args))
      if (child !== scope?.at) visit(child, inner, scope?.inside.includes(child) ? within : named);
  }

  const { ast } = environment.parse(expression);
  visit(ast, 0, new Set());
  const rootsIn = ({ start, end }: ASTNode) =>
    new Set(reads.filter(({ offset }) => offset >= start && offset < end).map(({ root }) => root));
  return { reads, ways: () => waysOf(ast, rootsIn), loopDepth, patterns };
}

/** The roots that an expression reads; none where it does not parse. */
export function rootsOf(environment: Environment, expression: string): ReadonlySet<RootName> {
  try {
    return new Set(readExpression(environment, expression).reads.map(({ root }) => root));
  } catch {
    return new Set();
  }
}

/** Whether an expression reads `verified.<field>` by that name; false where it does not parse. */
export function readsField(
  environment: Environment,
  expression: string,
  field: keyof (typeof policyRoots)['verified'],
): boolean {
  if (!expression.includes(field)) return false;
  try {
    const { reads } = readExpression(environment, expression);
    return reads.some((read) => read.root === 'verified' && read.field === field);
  } catch {
    return false;
  }
}
