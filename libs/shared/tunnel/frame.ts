import { inOneLine } from './strip-control-characters.ts';

/** What one side of a stream says to the other: one NATS message each. */
export type Frame =
  | DataFrame
  /** The stream is over, in both directions, before its end. */
  | { readonly kind: 'abort'; readonly reason: string }
  /** The other side may send so many bytes more. */
  | { readonly kind: 'credit'; readonly sizeBytes: number };

/** At least one of the three: a short answer is one frame. */
export interface DataFrame {
  readonly kind: 'data';
  /** The head of the response, as JSON. */
  readonly head?: Uint8Array | undefined;
  /** Of the body. */
  readonly data: Uint8Array;
  /** Nothing more comes from this side. */
  readonly isLast: boolean;
}

const codes = { data: 1, abort: 2, credit: 3 } as const;
/** Beside the code of `data`. */
const flags = { head: 0x40, last: 0x80 } as const;

/** One byte of kind, four of sequence. */
const prefixBytes = 5;
/** Before a head: how long it is. */
const headLengthBytes = 4;
const longestReason = 512;

function framed(code: number, sequence: number, parts: readonly Uint8Array[]): Buffer {
  const bytes = Buffer.allocUnsafe(parts.reduce((sum, { length }) => sum + length, prefixBytes));
  bytes.writeUInt8(code, 0);
  bytes.writeUInt32BE(sequence % 2 ** 32, 1);
  let at = prefixBytes;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** @param sequence - of this frame in its direction, from 0 on: NATS may lose a message, and a body must not miss its middle */
export function encodeFrame(frame: Frame, sequence: number): Uint8Array {
  switch (frame.kind) {
    case 'data': {
      const { head, data, isLast } = frame;
      const code = codes.data | (head === undefined ? 0 : flags.head) | (isLast ? flags.last : 0);
      return framed(code, sequence, head === undefined ? [data] : [uint32(head.length), head, data]);
    }
    case 'abort':
      return framed(codes.abort, sequence, [Buffer.from(frame.reason.slice(0, longestReason), 'utf8')]);
    case 'credit':
      return framed(codes.credit, sequence, [uint32(frame.sizeBytes)]);
  }
}

function dataFrame(code: number, payload: Buffer): DataFrame | undefined {
  const isLast = (code & flags.last) !== 0;
  if ((code & flags.head) === 0)
    return payload.length === 0 && !isLast ? undefined : { kind: 'data', data: payload, isLast };
  if (payload.length < headLengthBytes) return undefined;
  const headEnds = headLengthBytes + payload.readUInt32BE(0);
  if (headEnds > payload.length) return undefined;
  const head = payload.subarray(headLengthBytes, headEnds);
  return { kind: 'data', head, data: payload.subarray(headEnds), isLast };
}

function frameOf(code: number, payload: Buffer): Frame | undefined {
  if ((code & ~(flags.head | flags.last)) === codes.data) return dataFrame(code, payload);
  if (code === codes.abort)
    return { kind: 'abort', reason: inOneLine(payload.subarray(0, longestReason).toString('utf8')) };
  if (code === codes.credit && payload.length === 4)
    return { kind: 'credit', sizeBytes: payload.readUInt32BE(0) };
  return undefined;
}

/** @returns undefined for what is no frame, or says nothing */
export function decodeFrame(bytes: Uint8Array): { frame: Frame; sequence: number } | undefined {
  if (bytes.length < prefixBytes) return undefined;
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const frame = frameOf(view.readUInt8(0), view.subarray(prefixBytes));
  return frame && { frame, sequence: view.readUInt32BE(1) };
}
