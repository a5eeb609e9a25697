/**
 * Text of others, cut to a length that its place takes. What is no whole character, such as one that the cut falls into, becomes
 * U+FFFD: programs in Go read it so, and two that differ there would write each other's text again for ever.
 * @param most - in UTF-16 units, as JavaScript and the schemas of the API server's kinds count at most
 */
export function cutText(text: string, most: number): string {
  return text.slice(0, most).toWellFormed();
}
