/** What encodes the text of a NATS key; nothing of Node is in it, because the page of the console makes tokens with it. */
/** The first byte of a public key, by what it is of. */
export const publicPrefix = { operator: 14 << 3, account: 0, user: 20 << 3, server: 13 << 3 } as const;

export const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

export function base32(bytes: Uint8Array): string {
  let text = '';
  let buffer = 0;
  let bits = 0;
  for (const byte of bytes) {
    buffer = ((buffer << 8) | byte) & 0xff_ff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += alphabet.charAt((buffer >> bits) & 31);
    }
  }
  return bits > 0 ? text + alphabet.charAt((buffer << (5 - bits)) & 31) : text;
}

/** CRC-16/XMODEM, which closes every NATS key. */
export function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++)
      crc = ((crc & 0x80_00) === 0 ? crc << 1 : (crc << 1) ^ 0x10_21) & 0xff_ff;
  }
  return crc;
}

/** base32(prefix, bytes, crc16-le): the text of a NATS key. */
export function encodeKeyText(prefix: readonly number[], raw: Uint8Array): string {
  const body = Uint8Array.from([...prefix, ...raw]);
  const checksum = crc16(body);
  return base32(Uint8Array.from([...body, checksum & 0xff, checksum >> 8]));
}
