/** Control characters move the cursor and recolour a terminal; format characters hide or reorder text. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** Text of agents and other people as one line that a terminal shows as it is. */
export function printable(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll(unprintable, '');
}

/** JSON in one line whose strings keep every character, with the unprintable ones escaped. */
export function printableJson(value: unknown): string {
  // Outside of its strings this JSON has only ASCII punctuation, so an escape always lands inside of one.
  return JSON.stringify(value).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    [...Array(character.length).keys()]
      .map((index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
