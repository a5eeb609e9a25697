/** Of package `ws`, what websocket-connection.ts uses; its own types are another package, many times as long. */
declare module 'ws' {
  import type { EventEmitter } from 'node:events';
  import type { IncomingMessage } from 'node:http';
  import type { Duplex } from 'node:stream';

  export class WebSocket extends EventEmitter<{
    open: [];
    message: [data: Buffer, isBinary: boolean];
    error: [error: Error];
    close: [code: number, reason: Buffer];
    'unexpected-response': [request: unknown, response: IncomingMessage];
  }> {
    constructor(
      address: string,
      options: {
        createConnection(): Duplex;
        perMessageDeflate: false;
        handshakeTimeout: number;
        maxPayload: number;
      },
    );
    readonly isPaused: boolean;
    pause(): void;
    resume(): void;
    send(data: Uint8Array, done: (error?: Error) => void): void;
    /** Without the closing handshake. */
    terminate(): void;
  }
}
