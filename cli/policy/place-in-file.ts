import type { Scalar } from 'yaml';

/** Counted from 1. */
export interface FilePlace {
  readonly line: number;
  readonly column: number;
}

/**
 * Where a place within a text of a YAML file stands in the file.
 * @param place - line and column within the text, from 1
 * @returns where it stands; of a text that YAML folds or unescapes the beginning, with a note that says the place in words
 */
export function placeInFile(
  file: string,
  node: Scalar,
  place: FilePlace,
  at: (offset: number) => FilePlace,
): FilePlace & { note: string } {
  const [start = 0, end = 0] = node.range ?? [];
  const source = file.slice(start, end);
  const begin = at(start);
  if (node.type === 'BLOCK_LITERAL') {
    const [, ...body] = source.split('\n');
    const indent = /^ */.exec(body.find((line) => line.trim() !== '') ?? '')?.[0].length ?? 0;
    return { line: begin.line + place.line, column: indent + place.column, note: '' };
  }
  const quotes = node.type === 'PLAIN' ? 0 : 1;
  const isVerbatim = source.slice(quotes, source.length - quotes) === node.value;
  if (isVerbatim && place.line === 1)
    return { line: begin.line, column: begin.column + quotes + place.column - 1, note: '' };
  return { ...begin, note: ` (line ${place.line}, column ${place.column} of the expression)` };
}
