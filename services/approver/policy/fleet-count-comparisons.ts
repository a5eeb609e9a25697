import type { ASTNode } from '@marcbachmann/cel-js';
import type { FleetCounts } from '../fleet/fleet-tally.ts';
import { nodesIn } from './expression-nodes.ts';
import type { KubernetesEnvironment } from './kubernetes-library/kubernetes-environment.ts';

/** A count of the fleet that expressions compare with a whole number. */
export interface CountComparison {
  /** `['bySet', 'edge']` */
  readonly path: readonly string[];
  readonly number: bigint;
}

const comparisons = new Set(['<', '<=', '>', '>=', '==', '!=']);

const isFleet = ({ op, args }: ASTNode) => op === 'id' && args === 'fleet';

/** @returns what stands behind `fleet`, where the names are written out */
function pathOf(node: ASTNode): string[] | undefined {
  if (isFleet(node)) return [];
  if (node.op !== '.' && node.op !== '[]') return undefined;
  const [of, name] = node.args;
  const path = pathOf(of);
  const key = typeof name === 'string' ? name : name.op === 'value' ? name.args : undefined;
  return path && typeof key === 'string' ? [...path, key] : undefined;
}

function comparisonOf(node: ASTNode): CountComparison | undefined {
  if (!comparisons.has(node.op)) return undefined;
  const [left, right] = nodesIn(node.args);
  const [count, literal] = left?.op === 'value' ? [right, left] : [left, right];
  const path = count && pathOf(count);
  const number = literal?.op === 'value' ? literal.args : undefined;
  return path && path.length > 0 && typeof number === 'bigint' ? { path, number } : undefined;
}

/**
 * Which counts expressions compare with which numbers, where that is all that they do with `fleet`: as long as each count stays on
 * its side of each number, their answers stay the same.
 * @returns undefined where an expression reads `fleet` otherwise
 */
export function countComparisons(
  environment: KubernetesEnvironment,
  expressions: readonly string[],
): CountComparison[] | undefined {
  const found: CountComparison[] = [];
  /** @returns whether nothing else is done with `fleet` */
  function visit(node: ASTNode): boolean {
    const comparison = comparisonOf(node);
    if (comparison) found.push(comparison);
    // Also a variable of that name: what it is compared with does no harm.
    return comparison !== undefined || (!isFleet(node) && nodesIn(node.args).every(visit));
  }
  const areAll = expressions.every((expression) => {
    if (!expression.includes('fleet')) return true;
    try {
      return visit(environment.parse(expression).ast);
    } catch {
      // It gives the same failure, whatever the counts are.
      return true;
    }
  });
  return areAll ? found : undefined;
}

function countAt(counts: FleetCounts, path: readonly string[]): unknown {
  let value: unknown = counts;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

/** Whether expressions that only compare them so cannot tell these counts apart. */
export function areCountsAlike(
  all: readonly CountComparison[],
  one: FleetCounts,
  other: FleetCounts,
): boolean {
  return all.every(({ path, number }) => {
    const [a, b] = [countAt(one, path), countAt(other, path)];
    if (typeof a !== 'number' || typeof b !== 'number') return a === b;
    return a < number === b < number && a > number === b > number;
  });
}
