import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type Flow,
  type FlowEffect,
  type FlowInput,
  isOver,
  openedFlow,
  openingFlow,
  sendableBytes,
  step,
  windowBytes,
} from './flow-control.ts';
import { decodeFrame, encodeFrame } from './frame.ts';

const bytes = (length: number) => new Uint8Array(length);
const kindsOf = (effects: readonly FlowEffect[]) => effects.map(({ kind }) => kind);

function after(flow: Flow, ...inputs: readonly FlowInput[]): { flow: Flow; effects: FlowEffect[] } {
  let now = flow;
  const effects: FlowEffect[] = [];
  for (const input of inputs) {
    const result = step(now, input);
    now = result.flow;
    effects.push(...result.effects);
  }
  return { flow: now, effects };
}

const heard = (frame: Extract<FlowInput, { kind: 'heard' }>['frame'], sequence: number): FlowInput => ({
  kind: 'heard',
  frame,
  sequence,
});

const opening = openingFlow({ hasBody: true });
const opened = openedFlow({ hasBody: true });
const data = (length: number) => ({ kind: 'data', data: bytes(length), isLast: false }) as const;
const say = (length: number) => ({ kind: 'say', data: bytes(length), isLast: false }) as const;
const last = { data: bytes(0), isLast: true } as const;

/** The first frame of an answer. */
const head = heard({ ...data(0), head: bytes(2) }, 0);

test.each([
  {
    name: 'who opens may send nothing before the other side hears it',
    run: () => step(opening, say(1)),
  },
  {
    name: 'who has sent nothing has ended nothing before the other side hears it',
    run: () => step(opening, { kind: 'say', ...last }),
  },
  {
    name: 'nothing is written after the end',
    run: () => after(opened, { kind: 'say', ...last }, say(1)),
  },
  {
    name: 'a request without a body says nothing more',
    run: () => after(openingFlow({ hasBody: false }), say(1)),
  },
])('$name', ({ run }) => expect(run).toThrow('without credit'));

test.each([
  { name: 'a frame is missing', inputs: [heard(data(1), 1)], why: 'lost' },
  {
    name: 'more is sent than there is credit for',
    inputs: [head, heard(data(windowBytes + 1), 1)],
    why: 'than there was credit for',
  },
  {
    name: 'credit is given that nobody can have',
    inputs: [heard({ kind: 'credit', sizeBytes: windowBytes + 1 }, 0)],
    why: 'more credit',
  },
  {
    name: 'something comes after the end',
    inputs: [head, heard({ kind: 'data', ...last }, 1), heard(data(1), 2)],
    why: 'after the end',
  },
  { name: 'it ends before its head', inputs: [heard({ kind: 'data', ...last }, 0)], why: 'without its head' },
  {
    name: 'it has two heads',
    inputs: [head, heard({ ...data(1), head: bytes(1) }, 1)],
    why: 'where there is none',
  },
  { name: 'what comes is no frame', inputs: [{ kind: 'garbled' } as const], why: 'no frame' },
])('a stream ends and the other side is told, where $name', ({ inputs, why }) => {
  const { flow, effects } = after(opening, ...inputs);
  expect(flow.abortedBecause).toContain(why);
  expect(kindsOf(effects).slice(-2)).toEqual(['send', 'aborted']);
});

test('chunks of one byte do not make a window larger than large ones do', () => {
  let flow: Flow = step(opening, head).flow;
  let delivered = 0;
  for (let sequence = 1; !isOver(flow); sequence++) {
    const result = step(flow, heard(data(1), sequence));
    flow = result.flow;
    delivered += kindsOf(result.effects).filter((kind) => kind === 'deliver').length;
    expect(delivered).toBeLessThanOrEqual(windowBytes / 256);
  }
  expect(flow.abortedBecause).toContain('than there was credit for');
});

test('a short answer is one frame: what is in it is there before its head is told', () => {
  const answer = { head: bytes(2), data: bytes(3), isLast: true };
  const { effects } = after(openedFlow({ hasBody: false }), { kind: 'say', ...answer });
  expect(kindsOf(effects)).toEqual(['send']);
  const got = after(openingFlow({ hasBody: false }), heard({ kind: 'data', ...answer }, 0));
  expect(kindsOf(got.effects)).toEqual(['deliver', 'finish', 'head']);
  expect(isOver(got.flow)).toBe(true);
});

test('an abort after the last frame does not take away what has come', () => {
  const { effects } = after(
    opening,
    head,
    heard(data(3), 1),
    heard({ kind: 'data', ...last }, 2),
    heard({ kind: 'abort', reason: 'enough' }, 3),
  );
  expect(effects.at(-1)).toEqual({ kind: 'aborted', reason: 'enough', isTruncated: false });
});

test('a stream that ended cleanly on both sides says nothing more, not even that it is given up', () => {
  const over = after(openingFlow({ hasBody: false }), head, heard({ kind: 'data', ...last }, 1)).flow;
  expect(isOver(over)).toBe(true);
  expect(after(over, { kind: 'abort', reason: 'late' }).effects).toEqual([]);
});

test('a reader that takes nothing costs one window, and gets everything once it reads', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 300_000 }), { maxLength: 40 }),
      fc.nat(),
      (sizes, seed) => {
        let sender: Flow = step(opened, { ...say(0), head: bytes(2) }).flow;
        let reader: Flow = step(opening, head).flow;
        let held: Uint8Array[] = [];
        let taken = 0;
        const total = sizes.reduce((sum, size) => sum + size, 0);
        const left = [...sizes];
        const toReader: Uint8Array[] = [];
        const toSender: Uint8Array[] = [];
        const put = (effects: readonly FlowEffect[], channel: Uint8Array[]) => {
          for (const effect of effects) {
            if (effect.kind === 'send') channel.push(encodeFrame(effect.frame, effect.sequence));
            if (effect.kind === 'deliver') held.push(effect.data);
          }
        };
        const hear = (flow: Flow, message: Uint8Array) => {
          const decoded = decodeFrame(message);
          if (!decoded) throw new Error('no frame');
          return step(flow, { kind: 'heard', ...decoded });
        };
        for (let turn = 0; taken < total; turn++) {
          if (turn > 10_000) throw new Error(`stuck at ${taken} of ${total}`);
          const which = (turn * 7919 + seed) % 4;
          const [next] = left;
          if (which === 0 && next !== undefined && sendableBytes(sender) > 0) {
            const size = Math.min(next, sendableBytes(sender));
            if (size === next) left.shift();
            else left[0] = next - size;
            const said = step(sender, say(size));
            sender = said.flow;
            put(said.effects, toReader);
          } else if (which === 1) {
            const message = toReader.shift();
            if (message) {
              const result = hear(reader, message);
              reader = result.flow;
              put(result.effects, toSender);
            }
          } else if (which === 2) {
            const message = toSender.shift();
            if (message) sender = hear(sender, message).flow;
          } else {
            const effects: FlowEffect[] = [];
            for (const one of held) {
              const result = step(reader, { kind: 'read', data: one });
              taken += one.length;
              reader = result.flow;
              effects.push(...result.effects);
            }
            held = [];
            put(effects, toSender);
          }
          expect(held.reduce((sum, { length }) => sum + length, 0)).toBeLessThanOrEqual(windowBytes);
        }
        expect(sender.abortedBecause ?? reader.abortedBecause).toBeUndefined();
      },
    ),
  );
});

test('whatever is heard, a step never throws, and a stream that is over stays so', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 20 }), (messages) => {
      let flow: Flow = opening;
      for (const message of messages) {
        const decoded = decodeFrame(message);
        const wasOver = isOver(flow);
        const result = step(flow, decoded ? { kind: 'heard', ...decoded } : { kind: 'garbled' });
        const said = wasOver ? result.effects : [];
        expect(said).toEqual([]);
        flow = result.flow;
      }
    }),
  );
});
