import type { Msg } from '@nats-io/transport-node';

const scratch = new Uint8Array(4096);
const encoder = new TextEncoder();
const dot = 0x2e;

/**
 * The bytes of a message's subject. nats.js keeps them and makes a string only when `subject` is read; the field is not in
 * its contract, so without it the string is encoded again (right, but an allocation for each heartbeat).
 */
export function subjectBytes(message: Msg): Uint8Array {
  // oxlint-disable-next-line no-underscore-dangle -- the name is the library's
  const raw = (message as { readonly _msg?: { readonly subject?: unknown } })._msg?.subject;
  if (raw instanceof Uint8Array) return raw;
  return scratch.subarray(0, encoder.encodeInto(message.subject, scratch).written);
}

/** Headers and body. Where the library keeps it, nothing is decoded for it; without it headers are not counted. */
export function sizeOf(message: Msg): number {
  // oxlint-disable-next-line no-underscore-dangle -- the name is the library's
  const raw = (message as { readonly _msg?: { readonly size?: unknown } })._msg?.size;
  return typeof raw === 'number' ? raw : message.data.length;
}

/** Where the cluster id begins in `rollcall.heartbeat.<id>` and `rollcall.heartbeat-partition.<partition>.<id>`: after the last dot. */
export function idStart(subject: Uint8Array): number {
  return subject.lastIndexOf(dot) + 1;
}
