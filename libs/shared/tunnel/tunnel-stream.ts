import { Duplex } from 'node:stream';
import {
  chunkBytes,
  type Flow,
  type FlowInput,
  isOver,
  openedFlow,
  openingFlow,
  sendableBytes,
  step,
} from './flow.ts';
import { decodeFrame, encodeFrame } from './frame.ts';
import { TunnelAborted } from './tunnel-aborted.ts';

/** How a stream is ended by who has nothing more to say of it than that. */
const goneAway = 'the other end went away';

interface TunnelStreamOptions {
  /** Whose side this is: who opened it, or who was asked. */
  readonly side: 'opening' | 'opened';
  /** Puts one frame on the bus. */
  send(frame: Uint8Array): void;
  /** Once, when nothing more goes either way, or nobody here cares any more. */
  onClosed(): void;
  /** Told how much more, or less, is kept for the reader. */
  onKept?(deltaBytes: number): void;
}

/**
 * One end of a stream as Node has it: what is written goes out as far as the other side takes it, what comes is read. Event `head` has
 * the head of the response, event `heard` is the first frame of the other side. Destroyed before its end it ends the other side's as well.
 */
export class TunnelStream extends Duplex {
  #flow: Flow;
  readonly #options: TunnelStreamOptions;
  /** What came and was not asked for yet: at most one window. */
  readonly #arrived: Uint8Array[] = [];
  /** What the reader was given last, and may not have taken yet. */
  #givenBytes = 0;
  #keptBytes = 0;
  #isAskedFor = false;
  #hasHeard = false;
  /** What waits for credit. */
  #waiting: { data: Buffer; done: (error?: Error | null) => void } | undefined;

  constructor(options: TunnelStreamOptions) {
    // What is not asked for stays with us, where it counts against the window.
    super({ allowHalfOpen: true, readableHighWaterMark: 0, writableHighWaterMark: chunkBytes });
    this.#options = options;
    this.#flow = options.side === 'opening' ? openingFlow : openedFlow;
    this.once('close', options.onClosed);
    // Who waits for it by an event has it by one; for the rest an aborted stream is no crash.
    this.on('error', () => undefined);
  }

  /** What came and the reader has not taken. */
  get keptBytes(): number {
    return this.#keptBytes;
  }

  /** Whether the other side has nothing more to say, and need not be there any more for what is still to be read. */
  get hasHeardAll(): boolean {
    return this.#flow.receiving.isOver;
  }

  /** Takes what the bus brought for this stream. */
  hear(bytes: Uint8Array): void {
    if (!this.#hasHeard) {
      this.#hasHeard = true;
      this.emit('heard');
    }
    const decoded = decodeFrame(bytes);
    this.#do(decoded === undefined ? { kind: 'garbled' } : { kind: 'heard', ...decoded });
  }

  /** The other side may send from now on; also says to it that somebody is here. */
  accept(): void {
    this.#do({ kind: 'grant' });
  }

  /** Sends the head of the response, before any of its body. */
  sendHead(head: unknown): void {
    this.#do({ kind: 'head', data: Buffer.from(JSON.stringify(head), 'utf8') });
  }

  /** Ends both sides with a reason that the other one is told. */
  abort(reason: string): void {
    this.#do({ kind: 'abort', reason });
  }

  override _read(): void {
    this.#keep(-this.#givenBytes);
    this.#givenBytes = 0;
    this.#isAskedFor = true;
    this.#feed();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#waiting = { data: chunk, done };
    this.#sendWaiting();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#do({ kind: 'end' });
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!isOver(this.#flow)) this.#do({ kind: 'abort', reason: error?.message ?? goneAway });
    this.#arrived.length = 0;
    this.#givenBytes = 0;
    this.#keep(-this.#keptBytes);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.done(error ?? new TunnelAborted(goneAway));
    done(error);
  }

  #do(input: FlowInput): void {
    const { flow, effects } = step(this.#flow, input);
    this.#flow = flow;
    for (const effect of effects)
      switch (effect.kind) {
        case 'send':
          this.#options.send(encodeFrame(effect.frame, effect.sequence));
          break;
        case 'head':
          this.emit('head', effect.data);
          break;
        case 'deliver':
          // A view would keep all that was read of the connection with it.
          this.#arrived.push(effect.data.length < chunkBytes / 4 ? Buffer.from(effect.data) : effect.data);
          this.#keep(effect.data.length);
          this.#feed();
          break;
        case 'finish':
          this.#feed();
          break;
        case 'writable':
          this.#sendWaiting();
          break;
        case 'aborted':
          this.#gaveUp(effect);
          break;
      }
  }

  /** What has come in full stays readable: the other side only hears no more. */
  #gaveUp({ reason, isTruncated }: { reason: string; isTruncated: boolean }): void {
    if (isTruncated) {
      this.destroy(new TunnelAborted(reason));
      return;
    }
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.done();
    if (!this.writableEnded) this.end();
  }

  #keep(deltaBytes: number): void {
    this.#keptBytes += deltaBytes;
    if (deltaBytes !== 0) this.#options.onKept?.(deltaBytes);
  }

  #feed(): void {
    while (this.#isAskedFor) {
      const next = this.#arrived.shift();
      if (next === undefined) break;
      this.#givenBytes += next.length;
      this.#isAskedFor = this.push(next);
      this.#do({ kind: 'read', data: next });
    }
    const hasAll = this.#flow.receiving.isOver && this.#arrived.length === 0;
    if (hasAll && !this.readableEnded && !this.destroyed && this.#isAskedFor) {
      this.#isAskedFor = false;
      this.push(null);
    }
  }

  #sendWaiting(): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    if (isOver(this.#flow)) {
      this.#waiting = undefined;
      waiting.done();
      return;
    }
    let { data } = waiting;
    while (data.length > 0) {
      const sizeBytes = Math.min(data.length, sendableBytes(this.#flow));
      if (sizeBytes === 0) {
        this.#waiting = { data, done: waiting.done };
        return;
      }
      this.#do({ kind: 'write', data: data.subarray(0, sizeBytes) });
      data = data.subarray(sizeBytes);
    }
    this.#waiting = undefined;
    waiting.done();
  }
}
