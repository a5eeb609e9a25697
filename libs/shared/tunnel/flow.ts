import type { Frame } from './frame.ts';

/**
 * How far a stream is, in both directions, as one of its two ends sees it. Bodies go in chunks against credit: who reads nothing costs
 * one window, and nobody else waits.
 */
export interface Flow {
  readonly sending: Direction & {
    /** So much the other side still takes, as chunks cost it. */
    readonly creditBytes: number;
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
  | { readonly kind: 'head'; readonly data: Uint8Array }
  /** No more than `sendableBytes`, and not nothing. */
  | { readonly kind: 'write'; readonly data: Uint8Array }
  | { readonly kind: 'end' }
  | { readonly kind: 'abort'; readonly reason: string }
  /** Our reader has taken a chunk. */
  | { readonly kind: 'read'; readonly data: Uint8Array }
  /** We hear the other side from now on: it may send. */
  | { readonly kind: 'grant' };

export type FlowEffect =
  | { readonly kind: 'send'; readonly frame: Frame; readonly sequence: number }
  | { readonly kind: 'head'; readonly data: Uint8Array }
  | { readonly kind: 'deliver'; readonly data: Uint8Array }
  /** The other side has said everything. */
  | { readonly kind: 'finish' }
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

const costOf = (data: { readonly length: number }): number => data.length + chunkOverheadBytes;

/** How many bytes of body one more chunk may have; 0: none may be sent now. */
export function sendableBytes({ sending }: Flow): number {
  return Math.max(0, Math.min(chunkBytes, sending.creditBytes - chunkOverheadBytes));
}

const fresh = { sequence: 0, isOver: false };

/** Who opens: the other side may answer at once, and is sent nothing before it says that it hears us. */
export const openingFlow: Flow = {
  sending: { ...fresh, creditBytes: 0 },
  receiving: { ...fresh, windowBytes, owedBytes: 0, awaitsHead: true },
  abortedBecause: undefined,
};

/** Who is opened to. */
export const openedFlow: Flow = {
  sending: { ...fresh, creditBytes: windowBytes },
  receiving: { ...fresh, windowBytes: 0, owedBytes: 0, awaitsHead: false },
  abortedBecause: undefined,
};

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
    case 'head':
      return say(flow, { kind: 'head', data: input.data });
    case 'write': {
      if (flow.sending.isOver || costOf(input.data) > flow.sending.creditBytes)
        throw new TypeError('written without credit');
      return say(
        flow,
        { kind: 'data', data: input.data },
        { creditBytes: flow.sending.creditBytes - costOf(input.data) },
      );
    }
    case 'end':
      return flow.sending.isOver ? unchanged(flow) : say(flow, { kind: 'end' }, { isOver: true });
    case 'abort':
      return abort(flow, input.reason);
    case 'read':
      return giveBack(flow, costOf(input.data));
    case 'grant': {
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
    return { flow: { ...heard, sending: { ...sending, creditBytes } }, effects: [{ kind: 'writable' }] };
  }
  if (receiving.isOver) return abort(heard, 'something was sent after the end');
  // Whoever waits for a head would wait for ever; a second one is nobody's.
  if (receiving.awaitsHead !== (frame.kind === 'head'))
    return abort(
      heard,
      receiving.awaitsHead ? 'an answer came without its head' : 'a head came where there is none',
    );
  switch (frame.kind) {
    case 'head':
      return {
        flow: { ...heard, receiving: { ...heard.receiving, awaitsHead: false } },
        effects: [{ kind: 'head', data: frame.data }],
      };
    case 'data': {
      const left = receiving.windowBytes - costOf(frame.data);
      if (left < 0) return abort(heard, 'more was sent than there was credit for');
      return {
        flow: { ...heard, receiving: { ...heard.receiving, windowBytes: left } },
        effects: [{ kind: 'deliver', data: frame.data }],
      };
    }
    case 'end':
      return {
        flow: { ...heard, receiving: { ...heard.receiving, isOver: true } },
        effects: [{ kind: 'finish' }],
      };
  }
}
