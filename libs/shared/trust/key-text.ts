import { alphabet, base32, crc16, encodeKeyText } from './encode-key-text.ts';

/** By character code; a proof is checked for each request, and looking letters up one by one is most of what reading its key costs. */
const valueOfLetter = new Int8Array(128).fill(-1);
for (const [value, letter] of [...alphabet].entries()) valueOfLetter[letter.charCodeAt(0)] = value;

function fromBase32(text: string): Buffer | undefined {
  const bytes = Buffer.alloc(Math.floor((text.length * 5) / 8));
  let buffer = 0;
  let bits = 0;
  let at = 0;
  for (let from = 0; from < text.length; from++) {
    const value = valueOfLetter[text.charCodeAt(from)] ?? -1;
    if (value < 0) return undefined;
    buffer = ((buffer << 5) | value) & 0xff_ff;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes[at++] = (buffer >> bits) & 0xff;
    }
  }
  return bytes;
}

/** @returns prefix and the 32 bytes of the key; undefined for what is no such text */
export function decodeKeyText(text: string, prefixLength: number): Buffer | undefined {
  const all = fromBase32(text);
  if (all?.length !== prefixLength + 34) return undefined;
  const body = all.subarray(0, -2);
  return all.readUInt16LE(body.length) === crc16(body) && base32(all) === text ? body : undefined;
}

const seedPrefix = 18 << 3;

/** A seed has two prefix bytes: that it is one, and what of. */
export function encodeSeedText(prefix: number, rawSeed: Uint8Array): string {
  return encodeKeyText([seedPrefix | (prefix >> 5), (prefix & 31) << 3], rawSeed);
}

/** @throws Error when the text is no seed: seeds come from our own files, so that is a damaged state directory. */
export function decodeSeedText(seed: string): { prefix: number; rawSeed: Buffer } {
  const body = decodeKeyText(seed.trim(), 2);
  const [first = 0, second = 0] = body ?? [];
  if (!body || (first & 0xf8) !== seedPrefix) throw new Error('not an NKey seed');
  return { prefix: ((first & 7) << 5) | (second >> 3), rawSeed: body.subarray(2) };
}
