/** Format characters and separators of lines: they hide or reorder what stands around them. */
const unseen = /[\p{Cf}\p{Zl}\p{Zp}]/gu;

/** What the server says, with such characters in the texts of others as their escapes, which are seen: everything comes through here. */
export function parseShown<Value>(json: string): Value {
  const shown = json.replaceAll(
    unseen,
    (character) => `\\\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  );
  return JSON.parse(shown) as Value;
}
