/** Colours are for people at a terminal, and not for those who do not want them (no-color.org: any text but an empty one). */
export function hasColour(stream: { readonly isTTY?: boolean } = process.stdout): boolean {
  return stream.isTTY === true && !process.env['NO_COLOR'];
}
