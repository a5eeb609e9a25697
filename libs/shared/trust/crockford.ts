const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Crockford base32 in lower case, without the letters that people mix up (i, l, o, u). */
export function crockford(bytes: Uint8Array, length: number): string {
  let bits = 0n;
  for (const byte of bytes) bits = (bits << 8n) | BigInt(byte);
  const missing = length * 5 - bytes.length * 8;
  bits = missing >= 0 ? bits << BigInt(missing) : bits >> BigInt(-missing);
  let text = '';
  for (let at = length - 1; at >= 0; at--) text += alphabet.charAt(Number((bits >> BigInt(at * 5)) & 31n));
  return text.toLowerCase();
}

/** Folds what people type (upper case, o for 0, i and l for 1) to the canonical form; undefined for other characters. */
export function normalizeCrockford(text: string): string | undefined {
  const folded = text.toLowerCase().replaceAll('o', '0').replaceAll(/[il]/g, '1');
  return /^[0-9a-hjkmnp-tv-z]+$/.test(folded) ? folded : undefined;
}
