import { Document, isScalar, Scalar, visit } from 'yaml';

/** As in `printable.ts`; a tab is text here, as in the expressions of policies. */
const unprintable = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const everyUnprintable = new RegExp(unprintable, 'gu');
/** What a block would end with is cut off with the end of the text. */
const endsInSpace = /(?<!\S\n)(?<=\s)$/u;

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `\\U${code.toString(16).padStart(8, '0')}`;
}

/**
 * YAML whose strings keep every character, with the unprintable ones escaped: what is read back is what was there.
 * @param options.lineWidth - 0: no line is folded
 */
export function printableYaml(value: unknown, options: { lineWidth?: number } = {}): string {
  const document = new Document(value);
  visit(document, {
    Scalar(_key, node) {
      if (!isScalar(node) || typeof node.value !== 'string') return;
      if (unprintable.test(node.value) || endsInSpace.test(node.value)) node.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return document.toString(options).trimEnd().replaceAll(everyUnprintable, escaped);
}
