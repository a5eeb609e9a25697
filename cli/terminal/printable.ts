import { printableJsonText } from '@rollcall/shared/text';

/** Control characters move the cursor and recolour a terminal; format characters hide or reorder text. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** Text of agents and other people as one line that a terminal shows as it is. */
export function printable(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll(unprintable, '');
}

/** The same for text of several lines. */
export function printableLines(text: string): string {
  return text
    .split('\n')
    .map((line) => line.replaceAll(unprintable, ''))
    .join('\n');
}

/** Colours of ours (`styleText`): no other sequence of a terminal is let through. */
const escape = '\u001b';
const notShown = new RegExp(
  String.raw`(?![\n\t])(?!${escape}\[(?:2|22|3[1-6]|39)m)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]`,
  'gu',
);

/** What a command prints, whatever its parts were made from: lines, tabs, and colours of ours. */
export function printableOutput(text: string): string {
  return text.replaceAll(notShown, '');
}

/**
 * JSON whose strings keep every character, with the unprintable ones escaped.
 * @param indent - 0: one line
 */
export function printableJson(value: unknown, indent = 0): string {
  return printableJsonText(JSON.stringify(value, undefined, indent));
}
