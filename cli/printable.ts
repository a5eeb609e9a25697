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

/**
 * JSON whose strings keep every character, with the unprintable ones escaped.
 * @param indent - 0: one line
 */
export function printableJson(value: unknown, indent = 0): string {
  // A line break is never inside of a string here; everything else that is unprintable always is.
  return JSON.stringify(value, undefined, indent).replaceAll(
    /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    escapeUnits,
  );
}

function escapeUnits(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
