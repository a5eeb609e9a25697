import { stringify } from 'yaml';
import { printableJson, printableLines } from './printable.ts';

/** How one whole answer is shown to programs. */
export type DocumentFormat = 'json' | 'yaml';

/** One answer as one document. Lines of YAML are not folded: a command in it can be copied. */
export function documentText(value: unknown, format: DocumentFormat): string {
  return format === 'json'
    ? printableJson(value, 2)
    : printableLines(stringify(value, { lineWidth: 0 }).trimEnd());
}
