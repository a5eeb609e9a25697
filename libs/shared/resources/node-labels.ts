import { isLabelKey } from './label-syntax.ts';

/** Labels of a cluster that most of its nodes share stand under it; nobody but the projector writes them, and nothing goes by them. */
export const nodeLabelPrefix = 'node.rollcall.dev/';
/** So many of them, however many the nodes have. */
export const mostNodeLabels = 32;

/** Whether it can stand behind the prefix. */
export function isNodeLabelName(name: string): boolean {
  return !name.includes('/') && isLabelKey(name);
}
