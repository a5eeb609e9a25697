/** Of a condition, as the API conventions of Kubernetes want it. */
const reasonShape = /^[A-Za-z][A-Za-z0-9]{0,127}$/;

/**
 * Reason of Accepted, while the request waits: the `hubAcceptsClient: true` that stands in the object is no decision about it,
 * because it was written before the object showed the request, or without a name.
 */
export const acceptNotHeard = 'AcceptNotHeard';

/** A text as the reason of a condition; what is none (an event of another version) is replaced. */
export function asReason(text: string | undefined, fallback: string): string {
  return text !== undefined && reasonShape.test(text) ? text : fallback;
}

/** `NAME_TAKEN` → `NameTaken`: a code of the catalogue, or of a newer hub's, as the reason that Kubernetes shows. */
export function codeAsReason(code: string): string {
  const words = code.toLowerCase().split('_');
  return asReason(words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(''), 'Failed');
}
