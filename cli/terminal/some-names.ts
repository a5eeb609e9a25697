import { printable } from './printable.ts';

const mostNamed = 10;

/** `edge-1, edge-2 and 40 more`: a mass does not fit a line. */
export function someNames(names: readonly string[]): string {
  const named = names.slice(0, mostNamed).join(', ');
  const more = names.length - mostNamed;
  return printable(more > 0 ? `${named} and ${more} more` : named);
}
