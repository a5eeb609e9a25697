import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn, setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { chunkBytes, costOf, windowBytes } from './flow-control.ts';
import { encodeFrame } from './frame.ts';
import { boundKept } from './kept-bytes.ts';
import { TunnelAborted } from './tunnel-aborted.ts';
import { TunnelStream } from './tunnel-stream.ts';

/** Two ends, whose frames come one turn later and in their order; what lies between them is counted. */
function aTunnel(
  lose: (frame: Uint8Array, at: number) => boolean = () => false,
  onKept?: (deltaBytes: number) => void,
) {
  const closed: string[] = [];
  let frames = 0;
  let longest = 0;
  const carry = (to: () => TunnelStream) => (frame: Uint8Array) => {
    longest = Math.max(longest, frame.length);
    if (!lose(frame, frames++)) setImmediate(() => to().hear(frame));
  };
  const opening: TunnelStream = new TunnelStream({
    side: 'opening',
    hasBody: true,
    send: carry(() => opened),
    onClosed: () => closed.push('opening'),
    ...(onKept && { onKept }),
  });
  const opened: TunnelStream = new TunnelStream({
    side: 'opened',
    hasBody: true,
    send: carry(() => opening),
    onClosed: () => closed.push('opened'),
  });
  opened.sendHead({});
  return { opening, opened, closed, frames: () => frames, longest: () => longest };
}

const large = Buffer.alloc(5 * 1024 * 1024, 'abc');

test('bodies of many windows go both ways at once, whole, in chunks that an agent may send', async () => {
  const tunnel = aTunnel();
  tunnel.opened.accept();
  const [up, down] = await Promise.all([
    buffer(tunnel.opened),
    buffer(tunnel.opening),
    pipeline(Readable.from([large]), tunnel.opening, { end: true }).catch(() => undefined),
    new Promise<void>((resolve) => tunnel.opened.end(large, resolve)),
  ]);
  expect([up.equals(large), down.equals(large)]).toEqual([true, true]);
  expect(tunnel.longest()).toBeLessThan(chunkBytes + 64);
  while (tunnel.closed.length < 2) await nextTurn();
  expect(tunnel.closed.toSorted()).toEqual(['opened', 'opening']);
});

test('who reads nothing is sent one window', async () => {
  const tunnel = aTunnel();
  tunnel.opened.write(large);
  for (let turn = 0; turn < 200; turn++) await nextTurn();
  expect(tunnel.frames()).toBe(Math.ceil(windowBytes / (chunkBytes + 256)));
});

test('one end that is destroyed ends the other with its reason', async () => {
  const tunnel = aTunnel();
  tunnel.opened.write('half of it');
  tunnel.opening.destroy(new Error('the person pressed Ctrl-C'));
  const [error] = (await once(tunnel.opened, 'error')) as [Error];
  expect(error.message).toBe('the person pressed Ctrl-C');
});

test('a lost message ends the stream, and no body is cut without a word', async () => {
  const tunnel = aTunnel((_frame, at) => at === 1);
  const read = buffer(tunnel.opening);
  tunnel.opened.end(large);
  await expect(read).rejects.toThrow('lost on the way');
});

test('of many that read nothing, together over the bound, those that keep the most end, and who reads goes on', async () => {
  const mostBytes = 3.5 * windowBytes;
  const opening: TunnelStream[] = [];
  const onKept = boundKept(() => opening, mostBytes);
  const tunnels = Array.from({ length: 6 }, () => aTunnel(undefined, onKept));
  opening.push(...tunnels.map((tunnel) => tunnel.opening));
  const [reader, ...idle] = tunnels;
  const read = reader && buffer(reader.opening);
  for (const { opened } of tunnels) opened.end(large);
  for (let turn = 0; turn < 500; turn++) await nextTurn();
  expect((await read)?.equals(large)).toBe(true);
  expect(opening.reduce((sum, { keptBytes }) => sum + keptBytes, 0)).toBeLessThanOrEqual(mostBytes);
  expect(idle.filter((tunnel) => tunnel.opening.destroyed).length).toBe(2);
});

/** An end that says nothing and is told what a test has it hear. */
function aListener(onKept: (deltaBytes: number) => void = () => undefined) {
  const stream = new TunnelStream({
    side: 'opening',
    hasBody: false,
    send: () => undefined,
    onClosed: () => undefined,
    onKept,
  });
  let sequence = 0;
  const hear = (data: Uint8Array, isLast = false) => {
    const head = sequence === 0 ? Buffer.from('{}') : undefined;
    stream.hear(encodeFrame({ kind: 'data', head, data, isLast }, sequence++));
  };
  return { stream, hear };
}

test('chunks of one byte count against the bound of all streams as what they cost', () => {
  const mostBytes = windowBytes;
  const listeners: ReturnType<typeof aListener>[] = [];
  const alive = () => listeners.map(({ stream }) => stream).filter((stream) => !stream.destroyed);
  const onKept = boundKept(alive, mostBytes);
  for (let n = 0; n < 10; n++) {
    const listener = aListener(onKept);
    listeners.push(listener);
    for (let chunk = 0; chunk < 1000; chunk++) listener.hear(Buffer.alloc(1));
  }
  const kept = alive().reduce((sum, { keptBytes }) => sum + keptBytes, 0);
  expect(kept).toBe(alive().length * 1000 * costOf(Buffer.alloc(1)));
  expect(kept).toBeLessThanOrEqual(mostBytes);
  expect(alive().length).toBeGreaterThan(0);
});

test.each([
  { name: 'read', end: async (stream: TunnelStream) => void (await buffer(stream)) },
  { name: 'taken at once', end: async (stream: TunnelStream) => void stream.takeAll() },
  { name: 'given up', end: async () => undefined },
])('nothing is kept any more of what was $name and is over', async ({ end }) => {
  let kept = 0;
  const { stream, hear } = aListener((deltaBytes) => void (kept += deltaBytes));
  for (let chunk = 0; chunk < 9; chunk++) hear(Buffer.alloc(3));
  hear(Buffer.alloc(chunkBytes), true);
  expect(kept).toBe(9 * costOf(Buffer.alloc(3)) + costOf(Buffer.alloc(chunkBytes)));
  await end(stream);
  stream.destroy();
  expect([kept, stream.keptBytes]).toEqual([0, 0]);
});

test('an answer for which there is no room is no answer: no head, and nothing to take', async () => {
  const { stream, hear } = aListener(() => void stream.destroy(new TunnelAborted('no room')));
  const heads: unknown[] = [];
  stream.on('head', (head) => heads.push(head));
  hear(Buffer.alloc(1), true);
  expect(heads).toEqual([]);
  expect(() => stream.takeAll()).toThrow(new TunnelAborted('no room'));
});

test('while the bus has no room nothing more is put on it, who writes waits, and all goes on once there is', async () => {
  let hasRoom = false;
  let sentBytes = 0;
  const received: Buffer[] = [];
  const opening: TunnelStream = new TunnelStream({
    side: 'opening',
    hasBody: false,
    send: () => undefined,
    onClosed: () => undefined,
  });
  const streams = Array.from({ length: 3 }, () => {
    const opened: TunnelStream = new TunnelStream({
      side: 'opened',
      hasBody: false,
      send(frame) {
        sentBytes += frame.length;
        if (opened === streams[0]) setImmediate(() => opening.hear(frame));
      },
      onClosed: () => undefined,
      hasRoom: () => hasRoom,
    });
    return opened;
  });
  opening.on('data', (data: Buffer) => void received.push(data));
  for (const stream of streams) {
    stream.sendHead({});
    stream.end(large.subarray(0, windowBytes / 2));
  }
  await setTimeout(100);
  expect(sentBytes).toBe(0);
  hasRoom = true;
  await once(opening, 'end');
  expect(Buffer.concat(received).equals(large.subarray(0, windowBytes / 2))).toBe(true);
  await expect.poll(() => sentBytes).toBeGreaterThan((streams.length * windowBytes) / 2);
});

test('a stream that waits for room and is given up is no more spoken of', async () => {
  const frames: Uint8Array[] = [];
  const opened = new TunnelStream({
    side: 'opened',
    hasBody: false,
    send: (frame) => void frames.push(frame),
    onClosed: () => undefined,
    hasRoom: () => false,
  });
  opened.sendHead({});
  opened.write('abc');
  await nextTurn();
  opened.destroy(new TunnelAborted('no more'));
  await setTimeout(60);
  expect(frames).toEqual([encodeFrame({ kind: 'abort', reason: 'no more' }, 0)]);
});
