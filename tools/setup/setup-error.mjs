/**
 * Set-up cannot go on, and the message says to a person why and what to do. Anything else that is thrown is a bug.
 */
export class SetupError extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message);
    this.name = 'SetupError';
  }
}

/** One way to get a program did not work; the next one is tried, and the message stands in the final error. */
export class WayFailed extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message);
    this.name = 'WayFailed';
  }
}

/**
 * @param {unknown} error
 * @returns {string} the message and those of its causes, which name the host in Node's `fetch failed`
 */
export function messageOf(error) {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${messageOf(error.cause)}`;
}
