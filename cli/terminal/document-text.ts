import { printableJson } from './printable.ts';
import { printableYaml } from './printable-yaml.ts';

/** How one whole answer is shown to programs. */
export type DocumentFormat = 'json' | 'yaml';

/** One answer as one document. Lines of YAML are not folded: a command in it can be copied. */
export function documentText(value: unknown, format: DocumentFormat): string {
  return format === 'json' ? printableJson(value, 2) : printableYaml(value, { lineWidth: 0 });
}
