/** What a beat can say beside "alive". */
export const beatFlags = { goodbye: 1, memberApiDown: 2 } as const;

export interface Beat {
  readonly flags: number;
  /** The agent's own clock, reported only: hub receive time decides (principle 5). */
  readonly agentTimeMs: number;
}

const sizeBytes = 8;

/** Eight bytes: version, flags, and the agent's clock in 48 bits of ms. */
export function encodeBeat(beat: Beat): Uint8Array {
  const bytes = Buffer.alloc(sizeBytes);
  bytes[0] = 1;
  bytes[1] = beat.flags;
  bytes.writeUIntBE(Math.max(0, Math.min(beat.agentTimeMs, 2 ** 48 - 1)), 2, 6);
  return bytes;
}

/** The flags of a beat, read without allocating; -1 for anything that is no beat of version 1. */
export function beatFlagsOf(bytes: Uint8Array): number {
  return bytes.length === sizeBytes && bytes[0] === 1 ? (bytes[1] ?? -1) : -1;
}

/** The agent's clock in a beat that `beatFlagsOf` accepted. */
export function beatAgentTimeMs(bytes: Uint8Array): number {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).readUIntBE(2, 6);
}
