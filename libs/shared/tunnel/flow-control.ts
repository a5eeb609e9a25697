import type { DataFrame, Frame } from './frame.ts';

/**
 * How far a stream is, in both directions, as one of its two ends sees it. Bodies go in chunks against credit: who reads nothing costs
 * one window, and nobody else waits.
 */
export interface Flow {
  readonly sending: Direction & {
    /** So much the other side still takes, as chunks cost it. */
    readonly creditBytes: number;
    /** Whether the other side hears us: what is sent before is lost. */
    readonly hasBegun: boolean;
  };
  readonly receiving: Direction & {
    /** So much the other side was still allowed to send. */
    readonly windowBytes: number;
    /** Taken by our reader, and not given back as credit yet. */
    readonly owedBytes: number;
    /** Who opened gets one head, before anything else of the answer; who was asked gets none. */
    readonly awaitsHead: boolean;
  };
  readonly abortedBecause: string | undefined;
}

interface Direction {
  /** Of the next frame. */
  readonly sequence: number;
  readonly isOver: boolean;
}

export type FlowInput =
  /** The other side said it. */
  | { readonly kind: 'heard'; readonly frame: Frame; readonly sequence: number }
  /** What was heard is no frame. */
  | { readonly kind: 'garbled' }
  /** With no more data than `sendableBytes`, and not nothing at all. */
  | ({ readonly kind: 'say' } & Omit<DataFrame, 'kind'>)
  | { readonly kind: 'abort'; readonly reason: string }
  /** Our reader has taken a chunk. */
  | { readonly kind: 'read'; readonly data: Uint8Array }
  /** We hear the other side from now on: it may send. */
  | { readonly kind: 'grant' };

export type FlowEffect =
  | { readonly kind: 'send'; readonly frame: Frame; readonly sequence: number }
  | { readonly kind: 'deliver'; readonly data: Uint8Array }
  /** The other side has said everything. */
  | { readonly kind: 'finish' }
  /** After what came together with it. */
  | { readonly kind: 'head'; readonly data: Uint8Array }
  /** There is credit where there was none, or more of it. */
  | { readonly kind: 'writable' }
  /** Nothing more goes either way; `isTruncated`: what has come is not all. */
  | { readonly kind: 'aborted'; readonly reason: string; readonly isTruncated: boolean };

export interface FlowStep {
  readonly flow: Flow;
  readonly effects: readonly FlowEffect[];
}

/** How much one side sends before the other has taken any of it. */
export const windowBytes = 1024 * 1024;
/** Credit goes back in quarters of it: a frame for every chunk would double the messages. */
const returnedFromBytes = windowBytes / 4;
/** With subject and prefix below the 64 KiB that an agent may send at once. */
export const chunkBytes = 60 * 1024;

/** What a chunk costs of the window beside its bytes: in bytes, because a window of chunks of one byte would be a hundred times as large. */
const chunkOverheadBytes = 256;

/** What a chunk counts, of the window and as kept. A head and an end cost nothing: there is one of each. */
export const costOf = (data: { readonly length: number }): number =>
  data.length === 0 ? 0 : data.length + chunkOverheadBytes;

/** How many bytes of body one more frame may have; 0: none may be sent now. */
export function sendableBytes({ sending }: Flow, headBytes = 0): number {
  return Math.max(0, Math.min(chunkBytes - headBytes, sending.creditBytes - chunkOverheadBytes));
}

/** Who opens: the other side may answer at once, and is sent nothing before it says that it hears us; nor then, where there is no body. */
export function openingFlow({ hasBody }: { readonly hasBody: boolean }): Flow {
  return {
    sending: { sequence: 0, isOver: !hasBody, creditBytes: 0, hasBegun: false },
    receiving: { sequence: 0, isOver: false, windowBytes, owedBytes: 0, awaitsHead: true },
    abortedBecause: undefined,
  };
}

/** Who is opened to. */
export function openedFlow({ hasBody }: { readonly hasBody: boolean }): Flow {
  return {
    sending: { sequence: 0, isOver: false, creditBytes: windowBytes, hasBegun: true },
    receiving: { sequence: 0, isOver: !hasBody, windowBytes: 0, owedBytes: 0, awaitsHead: false },
    abortedBecause: undefined,
  };
}

/** Whether nothing goes either way any more. */
export function isOver({ sending, receiving, abortedBecause }: Flow): boolean {
  return abortedBecause !== undefined || (sending.isOver && receiving.isOver);
}

const unchanged = (flow: Flow): FlowStep => ({ flow, effects: [] });

function say(flow: Flow, frame: Frame, more: Partial<Flow['sending']> = {}): FlowStep {
  const { sequence } = flow.sending;
  return {
    flow: { ...flow, sending: { ...flow.sending, sequence: sequence + 1, ...more } },
    effects: [{ kind: 'send', frame, sequence }],
  };
}

/** By us: the other side is told, where it still says or hears anything. */
function abort(flow: Flow, reason: string): FlowStep {
  const said = say(flow, { kind: 'abort', reason });
  return {
    flow: { ...said.flow, abortedBecause: reason },
    effects: [...said.effects, { kind: 'aborted', reason, isTruncated: !flow.receiving.isOver }],
  };
}

/**
 * One thing that happened to a stream.
 * @returns how far it is now, and what is to be done, in this order; nothing for a stream that is over
 */
export function step(flow: Flow, input: FlowInput): FlowStep {
  if (isOver(flow)) return unchanged(flow);
  switch (input.kind) {
    case 'heard':
      return hear(flow, input);
    case 'garbled':
      return abort(flow, 'what was sent is no frame');
    case 'say': {
      const { head, data, isLast } = input;
      const creditBytes = flow.sending.creditBytes - costOf(data);
      if (!flow.sending.hasBegun || flow.sending.isOver || creditBytes < 0)
        throw new TypeError('written without credit');
      return say(flow, { kind: 'data', head, data, isLast }, { creditBytes, isOver: isLast });
    }
    case 'abort':
      return abort(flow, input.reason);
    case 'read':
      return giveBack(flow, costOf(input.data));
    case 'grant': {
      if (flow.receiving.isOver) return unchanged(flow);
      const granted = { ...flow, receiving: { ...flow.receiving, windowBytes } };
      return say(granted, { kind: 'credit', sizeBytes: windowBytes });
    }
  }
}

function giveBack(flow: Flow, sizeBytes: number): FlowStep {
  const { receiving } = flow;
  const owedBytes = receiving.owedBytes + sizeBytes;
  if (owedBytes < returnedFromBytes || receiving.isOver)
    return unchanged({ ...flow, receiving: { ...receiving, owedBytes } });
  const windowNow = receiving.windowBytes + owedBytes;
  return say(
    { ...flow, receiving: { ...receiving, windowBytes: windowNow, owedBytes: 0 } },
    { kind: 'credit', sizeBytes: owedBytes },
  );
}

function hear(flow: Flow, { frame, sequence }: { frame: Frame; sequence: number }): FlowStep {
  const { receiving, sending } = flow;
  // Whoever gave up does not count its frames any more, and is believed.
  if (frame.kind === 'abort') {
    const effects: FlowEffect[] = [{ kind: 'aborted', reason: frame.reason, isTruncated: !receiving.isOver }];
    return { flow: { ...flow, abortedBecause: frame.reason }, effects };
  }
  if (sequence !== receiving.sequence % 2 ** 32) return abort(flow, 'a message was lost on the way');
  const heard: Flow = { ...flow, receiving: { ...receiving, sequence: receiving.sequence + 1 } };
  if (frame.kind === 'credit') {
    const creditBytes = sending.creditBytes + frame.sizeBytes;
    if (creditBytes > windowBytes) return abort(heard, 'more credit was given than there can be');
    return {
      flow: { ...heard, sending: { ...sending, creditBytes, hasBegun: true } },
      effects: [{ kind: 'writable' }],
    };
  }
  if (receiving.isOver) return abort(heard, 'something was sent after the end');
  const { head, data, isLast } = frame;
  // Whoever waits for a head would wait for ever; a second one is nobody's.
  if (receiving.awaitsHead !== (head !== undefined))
    return abort(
      heard,
      receiving.awaitsHead ? 'an answer came without its head' : 'a head came where there is none',
    );
  const windowNow = receiving.windowBytes - costOf(data);
  if (windowNow < 0) return abort(heard, 'more was sent than there was credit for');
  const effects: FlowEffect[] = [];
  if (data.length > 0) effects.push({ kind: 'deliver', data });
  if (isLast) effects.push({ kind: 'finish' });
  if (head !== undefined) effects.push({ kind: 'head', data: head });
  const now = { ...heard.receiving, windowBytes: windowNow, awaitsHead: false, isOver: isLast };
  return { flow: { ...heard, receiving: now }, effects };
}
