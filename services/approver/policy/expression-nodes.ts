import type { ASTNode } from '@marcbachmann/cel-js';

function isNode(value: unknown): value is ASTNode {
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value;
}

/** Nodes below a node, however deep its arguments are nested in lists. */
export function nodesIn(args: unknown): ASTNode[] {
  if (isNode(args)) return [args];
  return Array.isArray(args) ? args.flatMap(nodesIn) : [];
}
