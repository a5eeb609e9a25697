/** What one side of a stream says to the other: one NATS message each. */
export type Frame =
  /** The head of the response, as JSON. */
  | { readonly kind: 'head'; readonly data: Uint8Array }
  | { readonly kind: 'data'; readonly data: Uint8Array }
  /** Nothing more comes from this side. */
  | { readonly kind: 'end' }
  /** The stream is over, in both directions, before its end. */
  | { readonly kind: 'abort'; readonly reason: string }
  /** The other side may send so many bytes more. */
  | { readonly kind: 'credit'; readonly sizeBytes: number };

const codes = { head: 1, data: 2, end: 3, abort: 4, credit: 5 } as const;
const kinds = new Map<number, Frame['kind']>(
  Object.entries(codes).map(([kind, code]) => [code, kind as Frame['kind']]),
);

/** One byte of kind, four of sequence. */
const prefixBytes = 5;
const longestReason = 512;
const nothing = new Uint8Array();

function payloadOf(frame: Frame): Uint8Array {
  switch (frame.kind) {
    case 'head':
    case 'data':
      return frame.data;
    case 'abort':
      return Buffer.from(frame.reason.slice(0, longestReason), 'utf8');
    case 'credit': {
      const size = Buffer.alloc(4);
      size.writeUInt32BE(frame.sizeBytes);
      return size;
    }
    case 'end':
      return nothing;
  }
}

/** @param sequence - of this frame in its direction, from 0 on: NATS may lose a message, and a body must not miss its middle */
export function encodeFrame(frame: Frame, sequence: number): Uint8Array {
  const payload = payloadOf(frame);
  const bytes = Buffer.allocUnsafe(prefixBytes + payload.length);
  bytes.writeUInt8(codes[frame.kind], 0);
  bytes.writeUInt32BE(sequence % 2 ** 32, 1);
  bytes.set(payload, prefixBytes);
  return bytes;
}

/** @returns undefined for what is no frame */
export function decodeFrame(bytes: Uint8Array): { frame: Frame; sequence: number } | undefined {
  if (bytes.length < prefixBytes) return undefined;
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const sequence = view.readUInt32BE(1);
  const payload = view.subarray(prefixBytes);
  switch (kinds.get(view.readUInt8(0))) {
    case 'head':
      return { frame: { kind: 'head', data: payload }, sequence };
    case 'data':
      return { frame: { kind: 'data', data: payload }, sequence };
    case 'end':
      return { frame: { kind: 'end' }, sequence };
    case 'abort': {
      const reason = payload.subarray(0, longestReason).toString('utf8');
      return { frame: { kind: 'abort', reason }, sequence };
    }
    case 'credit':
      return payload.length === 4
        ? { frame: { kind: 'credit', sizeBytes: payload.readUInt32BE(0) }, sequence }
        : undefined;
    case undefined:
      return undefined;
  }
}
