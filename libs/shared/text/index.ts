/**
 * Text of others, cut to a length that its place takes. What is no whole character, such as one that the cut falls into, becomes
 * U+FFFD: programs in Go read it so, and two that differ there would write each other's text again for ever.
 * @param most - in UTF-16 units, as JavaScript and the schemas of the API server's kinds count at most
 */
export function cutText(text: string, most: number): string {
  return text.slice(0, most).toWellFormed();
}

/** Controls move a cursor and recolour a terminal; format characters hide or turn around what is beside them; half a character is none. */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const everyUnprintable = new RegExp(unprintable, 'gu');
const everyBreak = /[\t\n\v\f\r\u0085\p{Zl}\p{Zp}]/gu;

/** Whether a terminal shows all of it as it is, in one line. */
export function isPrintable(text: string): boolean {
  return !unprintable.test(text);
}

/** One line that a terminal shows as it is: breaks and tabs become blanks, other controls and format characters U+FFFD. Never longer. */
export function printableLine(text: string): string {
  return isPrintable(text) ? text : text.replaceAll(everyBreak, ' ').replaceAll(everyUnprintable, '\uFFFD');
}

/**
 * JSON that reads as before, in which nothing stands as itself that moves a cursor, recolours a terminal, or hides or turns around what
 * is beside it. Between its strings there are line breaks at most, which stay.
 */
export function printableJsonText(json: string): string {
  return json.replaceAll(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escapeUnits);
}

function escapeUnits(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
