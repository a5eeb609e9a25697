import { RollcallError } from '@rollcall/shared/errors';

/** A request nests five levels; facts and labels of the largest member stay far below these. */
const maxDepth = 12;
const maxParts = 4000;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;

/** Counts without parsing, so that nothing is built of what is refused. Strings are passed over. */
function refuseShape(text: string): void {
  let depth = 0;
  let parts = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === quote) {
      for (at++; at < text.length && text.charCodeAt(at) !== quote; at++)
        if (text.charCodeAt(at) === backslash) at++;
    } else if (char === 0x7b || char === 0x5b) {
      if (++depth > maxDepth)
        throw new RollcallError('REQUEST_TOO_LARGE', `the message nests deeper than ${maxDepth} levels`);
    } else if (char === 0x7d || char === 0x5d) depth--;
    else if (char === comma && ++parts > maxParts)
      throw new RollcallError('REQUEST_TOO_LARGE', `the message has more than ${maxParts} parts`);
  }
}

/** What our own code could read otherwise than it was written is no message of an agent. */
function refuseValue(key: string, value: unknown): void {
  if (key === '__proto__') throw new RollcallError('REQUEST_INVALID', 'the message has a key "__proto__"');
  if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER)
    throw new RollcallError(
      'REQUEST_INVALID',
      `the message has a number beyond 2^53 at "${key.slice(0, 64)}"`,
    );
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) refuseValue(name, inner);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Parses what an outsider sent, within bounds of depth and number of parts; the size is bounded by whoever hands it in.
 * @returns undefined for what is no JSON
 * @throws RollcallError REQUEST_TOO_LARGE, REQUEST_INVALID with its own reason for each bound
 */
export function parseBoundedJson(text: string): unknown {
  refuseShape(text);
  const value = parseJson(text);
  refuseValue('', value);
  return value;
}
