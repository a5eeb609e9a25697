/** Random for each process, so that nobody can prepare ids that collide. */
const seed = crypto.getRandomValues(new Uint32Array(1))[0]!;

/**
 * FNV-1a over a stretch of bytes, mixed once more at the end, because tables use the low bits only.
 * Plain numbers instead of a range object: it runs for every heartbeat and must not allocate.
 * @returns a signed 32-bit number, different in each process
 */
export function hashBytes(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x81_1c_9d_c5 ^ seed;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01_00_01_93);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85_eb_ca_6b);
  return hash ^ (hash >>> 13);
}
