/** What a heartbeat can say beside "alive". */
export const heartbeatFlags = { goodbye: 1, memberApiDown: 2 } as const;

export interface HeartbeatMessage {
  readonly flags: number;
  /** The agent's own clock, reported only: hub receive time decides (principle 5). */
  readonly agentTimeMs: number;
}

const sizeBytes = 8;

/** Eight bytes: version, flags, and the agent's clock in 48 bits of ms. */
export function encodeHeartbeat(heartbeat: HeartbeatMessage): Uint8Array {
  const bytes = Buffer.alloc(sizeBytes);
  bytes[0] = 1;
  bytes[1] = heartbeat.flags;
  bytes.writeUIntBE(Math.max(0, Math.min(heartbeat.agentTimeMs, 2 ** 48 - 1)), 2, 6);
  return bytes;
}

/** The flags of a heartbeat, read without allocating; -1 for anything that is no heartbeat of version 1. */
export function heartbeatFlagsOf(bytes: Uint8Array): number {
  return bytes.length === sizeBytes && bytes[0] === 1 ? (bytes[1] ?? -1) : -1;
}

/** The agent's clock in a heartbeat that `heartbeatFlagsOf` accepted. */
export function heartbeatAgentTimeMs(bytes: Uint8Array): number {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).readUIntBE(2, 6);
}
