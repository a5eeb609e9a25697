import { type Document, isMap, isScalar, isSeq, type Node } from 'yaml';

/** Keys and indexes on the way to a value. */
export type YamlPath = readonly (string | number)[];

export function nodeAt(document: Document, path: YamlPath): Node | undefined {
  const node: unknown = path.length === 0 ? document.contents : document.getIn(path, true);
  return isMap(node) || isSeq(node) || isScalar(node) ? node : undefined;
}

/**
 * Where the value at a path begins in the text, or the nearest one above it that is there.
 * @param atKey - the key is meant, not its value
 */
export function offsetOf(document: Document, path: YamlPath, atKey = false): number {
  const parent = nodeAt(document, path.slice(0, -1));
  if (atKey && isMap(parent)) {
    const key = parent.items.find((pair) => isScalar(pair.key) && pair.key.value === path.at(-1))?.key;
    if (isScalar(key)) return key.range?.[0] ?? 0;
  }
  const node = nodeAt(document, path);
  if (node) return node.range?.[0] ?? 0;
  return path.length === 0 ? 0 : offsetOf(document, path.slice(0, -1));
}
