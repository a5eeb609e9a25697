import { Duplex } from 'node:stream';
import {
  chunkBytes,
  costOf,
  type Flow,
  type FlowInput,
  isOver,
  openedFlow,
  openingFlow,
  sendableBytes,
  step,
} from './flow-control.ts';
import { decodeFrame, encodeFrame } from './frame.ts';
import { UnsentData } from './unsent-data.ts';
import { TunnelAborted } from './tunnel-aborted.ts';

/** How a stream is ended by who has nothing more to say of it than that. */
const goneAway = 'the other end went away';

interface TunnelStreamOptions {
  /** Whose side this is: who opened it, or who was asked. */
  readonly side: 'opening' | 'opened';
  /** Whether who opened it says anything but what opened it. */
  readonly hasBody: boolean;
  /** Puts one frame on the bus. */
  send(frame: Uint8Array): void;
  /** Once, when nothing more goes either way, or nobody here cares any more. */
  onClosed(): void;
  /** Told how much more, or less, is kept for the reader. */
  onKept?(deltaBytes: number): void;
  /** Whether more can go out now; where not, it is asked again in a moment, and who writes waits. Default: it always can. */
  hasRoom?(): boolean;
}

/** Streams with something to say. */
let speakers: TunnelStream[] = [];

/** What all of them say goes out at once, so that it becomes one write to the bus. */
function sayAll(): void {
  const now = speakers;
  speakers = [];
  for (const stream of now) stream.sayNow();
}

/** Streams with something to say for which there is no room. */
let waiting = new Set<TunnelStream>();
const askedAgainMs = 20;

/** Another one is the first each time, so that all get on. */
function sayWaiting(): void {
  const all = [...waiting];
  const from = Math.floor(Math.random() * all.length);
  waiting = new Set();
  for (const stream of [...all.slice(from), ...all.slice(0, from)]) stream.sayNow();
}

/**
 * One end of a stream as Node has it: what is written goes out as far as the other side takes it, what comes is read. What is written
 * within one turn of the event loop goes together: a short answer, its head and its end are one frame. Event `head` has the head of the
 * response; what came together with it is there by then. Destroyed before its end it ends the other side's as well.
 */
export class TunnelStream extends Duplex {
  #flow: Flow;
  readonly #options: TunnelStreamOptions;
  /** What came and was not asked for yet: at most one window. */
  readonly #arrived: Uint8Array[] = [];
  /** What the reader was given last, and may not have taken yet: as chunks cost it, like all that is kept. */
  #givenBytes = 0;
  #keptBytes = 0;
  #isAskedFor = false;
  readonly #unsent = new UnsentData();
  #isSpeaking = false;
  /** Of who wrote last, while more waits than one frame takes, or the end. */
  #sent: ((error?: Error | null) => void) | undefined;

  constructor(options: TunnelStreamOptions) {
    const { side, hasBody } = options;
    // Node takes them, and the type of its options lists them not.
    const ways = { readable: hasBody || side === 'opening', writable: hasBody || side === 'opened' };
    super({
      ...ways,
      allowHalfOpen: true,
      // What is not asked for stays with us, where it counts against the window.
      readableHighWaterMark: 0,
      writableHighWaterMark: chunkBytes,
    });
    this.#options = options;
    this.#flow = side === 'opening' ? openingFlow({ hasBody }) : openedFlow({ hasBody });
    this.once('close', options.onClosed);
    // Who waits for it by an event has it by one; for the rest an aborted stream is no crash.
    this.on('error', () => undefined);
  }

  /** What came and the reader has not taken, as chunks cost it. */
  get keptBytes(): number {
    return this.#keptBytes;
  }

  /** Whether the other side has nothing more to say, and need not be there any more for what is still to be read. */
  get hasHeardAll(): boolean {
    return this.#flow.receiving.isOver;
  }

  /** Takes what the bus brought for this stream. */
  hear(bytes: Uint8Array): void {
    const decoded = decodeFrame(bytes);
    this.#do(decoded === undefined ? { kind: 'garbled' } : { kind: 'heard', ...decoded });
  }

  /** The other side may send from now on. */
  accept(): void {
    this.#do({ kind: 'grant' });
  }

  /** Sends the head of the response, before any of its body. */
  sendHead(head: unknown): void {
    this.#unsent.head = Buffer.from(JSON.stringify(head), 'utf8');
    this.#speak();
  }

  /**
   * Takes the rest of what the other side says, where all of it is here; the reader gets nothing more. It counts as kept until the
   * stream is destroyed.
   * @returns undefined where more comes
   * @throws TunnelAborted where the stream is destroyed: what came is gone
   */
  takeAll(): Buffer | undefined {
    if (this.destroyed) throw new TunnelAborted(this.errored?.message ?? goneAway);
    if (!this.hasHeardAll) return undefined;
    this.#givenBytes = this.#keptBytes;
    return Buffer.concat(this.#arrived.splice(0));
  }

  override _read(): void {
    this.#keep(-this.#givenBytes);
    this.#givenBytes = 0;
    this.#isAskedFor = true;
    this.#feed();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.#unsent.add(chunk);
    this.#sent = done;
    if (this.#unsent.sizeBytes >= chunkBytes) {
      this.sayNow();
      return;
    }
    this.#speak();
    this.#allSent();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#unsent.hasEnd = true;
    this.#sent = done;
    this.#speak();
  }

  #speak(): void {
    if (this.#isSpeaking) return;
    this.#isSpeaking = true;
    if (speakers.length === 0) setImmediate(sayAll);
    speakers.push(this);
  }

  /** Sends what waits, as far as there is credit. */
  sayNow(): void {
    this.#isSpeaking = false;
    while (this.#flow.sending.hasBegun && !this.#flow.sending.isOver && !isOver(this.#flow)) {
      if (!this.#unsent.isEmpty && this.#options.hasRoom?.() === false) {
        this.#waitForRoom();
        break;
      }
      const content = this.#unsent.next((headBytes) => sendableBytes(this.#flow, headBytes));
      if (content === undefined) break;
      this.#do({ kind: 'say', ...content });
    }
    if (isOver(this.#flow)) this.#unsent.clear();
    if (this.#unsent.sizeBytes < chunkBytes && !this.#unsent.hasEnd) this.#allSent();
  }

  #waitForRoom(): void {
    if (waiting.size === 0) setTimeout(sayWaiting, askedAgainMs).unref();
    waiting.add(this);
  }

  #allSent(error?: Error): void {
    const done = this.#sent;
    this.#sent = undefined;
    done?.(error);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!isOver(this.#flow)) this.#do({ kind: 'abort', reason: error?.message ?? goneAway });
    this.#arrived.length = 0;
    this.#givenBytes = 0;
    this.#keep(-this.#keptBytes);
    this.#unsent.clear();
    // Not for nobody: each stream is destroyed at its end, and an error costs a fifth of what all the rest of a GET does (measured).
    if (this.#sent) this.#allSent(error ?? new TunnelAborted(goneAway));
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
          // There may have been no room for what came together with it.
          if (!this.destroyed) this.emit('head', effect.data);
          break;
        case 'deliver':
          // A view would keep all that was read of the connection with it.
          this.#arrived.push(effect.data.length < chunkBytes / 4 ? Buffer.from(effect.data) : effect.data);
          this.#keep(costOf(effect.data));
          this.#feed();
          break;
        case 'finish':
          this.#feed();
          break;
        case 'writable':
          this.sayNow();
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
    this.sayNow();
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
      this.#givenBytes += costOf(next);
      this.#isAskedFor = this.push(next);
      this.#do({ kind: 'read', data: next });
    }
    const hasAll = this.#flow.receiving.isOver && this.#arrived.length === 0;
    if (hasAll && !this.readableEnded && !this.destroyed && this.#isAskedFor) {
      this.#isAskedFor = false;
      this.push(null);
    }
  }
}
