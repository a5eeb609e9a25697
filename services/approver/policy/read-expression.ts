import type { ASTNode } from '@marcbachmann/cel-js';
import { nodesIn } from './expression-nodes.ts';
import type { KubernetesEnvironment } from './kubernetes-library/kubernetes-environment.ts';
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
  'transformMapEntry',
  'sortBy',
]);

/** They give a name to one value, and do not repeat anything. */
const bindings = new Set(['optMap', 'optFlatMap']);

/** How many names a loop begins with. */
function namesOf(loop: string, args: readonly ASTNode[]): number {
  if (loop.startsWith('transform')) return 2;
  return ['all', 'exists', 'exists_one', 'existsOne'].includes(loop) && args.length === 3 ? 2 : 1;
}

function isRoot(name: string): name is RootName {
  return Object.hasOwn(policyRoots, name);
}

/** Where an expression gives names of its own: the nodes of the names, and what is under them. */
interface Scope {
  readonly at: readonly ASTNode[];
  readonly inside: readonly ASTNode[];
}

function scopeOf(node: ASTNode): Scope | undefined {
  if (node.op !== 'rcall') return undefined;
  const [method, receiver, args] = node.args;
  if (loops.has(method) || bindings.has(method)) {
    const names = namesOf(method, args);
    return { at: args.slice(0, names), inside: args.slice(names) };
  }
  const isBind = method === 'bind' && receiver.op === 'id' && receiver.args === 'cel';
  return isBind ? { at: args.slice(0, 1), inside: args.slice(2) } : undefined;
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
export function readExpression(environment: KubernetesEnvironment, expression: string): ExpressionUse {
  const reads: { root: RootName; field: string | undefined; offset: number }[] = [];
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
    const inner = node.op === 'rcall' && loops.has(node.args[0]) ? depth + 1 : depth;
    const scope = scopeOf(node);
    // What a root is called inside of a loop over something else is not that root.
    const names = scope?.at.flatMap((at) => (at.op === 'id' ? [at.args] : [])) ?? [];
    const within = new Set([...named, ...names]);
    for (const child of nodesIn(node.args))
      if (!scope?.at.includes(child)) visit(child, inner, scope?.inside.includes(child) ? within : named);
  }

  const { ast } = environment.parse(expression);
  visit(ast, 0, new Set());
  const rootsIn = ({ start, end }: ASTNode) =>
    new Set(reads.filter(({ offset }) => offset >= start && offset < end).map(({ root }) => root));
  return { reads, ways: () => waysOf(ast, rootsIn), loopDepth };
}

/** The roots that an expression reads; none where it does not parse. */
export function rootsOf(environment: KubernetesEnvironment, expression: string): ReadonlySet<RootName> {
  try {
    return new Set(readExpression(environment, expression).reads.map(({ root }) => root));
  } catch {
    return new Set();
  }
}

/** Whether an expression reads `verified.<field>` by that name; false where it does not parse. */
export function readsField(
  environment: KubernetesEnvironment,
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
