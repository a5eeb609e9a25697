import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { NatsConnection } from '@nats-io/transport-node';
import { connectBus } from '@rollcall/shared/bus';
import { aliveEveryMs, aliveWord, deadAfterMs, readStreamRequest } from '@rollcall/shared/tunnel';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createOpenStreams, type Streams } from '../../services/member-gateway/open-streams.ts';
import { until } from '../harness/embedded.ts';
import { startTestHub, type TestHub } from '../harness/test-hub.ts';

/** What the holder of one agent's credential can do to the gateway with frames, within its rights on the bus. */
let hub: TestHub;
let gateway: NatsConnection;
let streams: Streams;
beforeAll(async () => {
  hub = await startTestHub();
  gateway = await connectBus(hub.address, hub.credentialsOf('member-gateway'), 'member-gateway');
  streams = createOpenStreams(gateway);
});
afterAll(async () => {
  streams.stop();
  await gateway.close();
  await hub[Symbol.asyncDispose]();
});

const asked = {
  method: 'GET',
  path: '/version',
  headers: [],
  hasBody: false,
  user: 'alice',
  groups: [],
} as const;

/** A frame as it goes over the bus: kind and number, then what it says. */
function frame(
  kind: 'data' | 'head' | 'end' | 'credit',
  sequence: number,
  payload: Uint8Array | string = '',
) {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8({ data: 0x01, head: 0x41, end: 0x81, credit: 0x03 }[kind]);
  prefix.writeUInt32BE(sequence, 1);
  return Buffer.concat([prefix, Buffer.from(payload)]);
}

/** The head of an answer, of which more is said to come than there is, where it is not whole. */
const head = (text: string, sizeBytes = text.length) =>
  frame('head', 0, Buffer.concat([Buffer.from([0, 0, 0, sizeBytes]), Buffer.from(text)]));

/** An agent that answers as it likes, and a stream that the gateway has opened to it. */
async function evilAgent(of: Streams = streams) {
  const clusterId = randomUUID();
  const bus = await connectBus(hub.address, hub.agentCredentials('member', clusterId), clusterId);
  const opened = Promise.withResolvers<{ gateway: string; stream: string }>();
  bus.subscribe(`rollcall.tunnel.open.${clusterId}`, {
    callback: (_error, message) => opened.resolve(JSON.parse(message.string())),
  });
  await bus.flush();
  const end = of.open({ clusterId, person: 'alice' }, asked);
  if (!end) throw new Error('not opened');
  const { gateway: name, stream } = await opened.promise;
  const place = `rollcall.tunnel.up.${clusterId}.${name}`;
  return {
    clusterId,
    end,
    say: (data: Uint8Array) => bus.publish(`${place}.${stream}`, data),
    sayAlive: (names = stream) => bus.publish(`${place}.${aliveWord}`, names),
    sayElsewhere: (data: Uint8Array) => bus.publish(`${place}.none`, data),
    flush: () => bus.flush(),
    async [Symbol.asyncDispose]() {
      end.destroy();
      await bus.close();
    },
  };
}

type EvilAgent = Awaited<ReturnType<typeof evilAgent>>;

test.each([
  { name: 'that say nothing', frames: [head('{}'), frame('data', 1)] },
  { name: 'whose head is longer than they are', frames: [head('{}', 3)] },
  { name: 'that are cut within the length of a head', frames: [frame('head', 0, 'xx')] },
  {
    name: 'of one byte, beyond what there is credit',
    frames: [head('{}'), ...Array.from({ length: 5000 }, (_, at) => frame('data', at + 1, 'x'))],
  },
])('frames $name end the stream', async ({ frames }) => {
  await using agent = await evilAgent();
  for (const one of frames) agent.say(one);
  await agent.flush();
  await expect.poll(() => agent.end.destroyed, { timeout: 10_000 }).toBe(true);
});

test('a byte that waits for a reader does not hold the memory in which it came', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const kept = () => {
    collect();
    return process.memoryUsage().arrayBuffers;
  };
  // Its own: what the last test sent too much of may still be on its way, and counts as stray.
  const own = createOpenStreams(gateway);
  await using agent = await evilAgent(own);
  agent.say(head('{}'));
  await agent.flush();
  const before = kept();
  const large = Buffer.alloc(12_000);
  // What came for no stream is thrown away, but a slice of what came together with it holds all of that.
  for (let sequence = 1; sequence <= 2000; sequence++) {
    agent.say(frame('data', sequence, 'x'));
    agent.sayElsewhere(large);
    if (sequence % 50 > 0) continue;
    await agent.flush();
    // Read here, too: a connection behind many megabytes hears no answer to its pings, and takes itself for lost.
    await gateway.flush();
    // More than that in a second is a flood.
    await delay(100);
  }
  await until('all has come', async () => own.strayFrames() === 2000);
  expect(agent.end.destroyed).toBe(false);
  // 2000 bytes wait. What is on its way through the sockets of this process is let go after a while; what a slice holds is not.
  await expect.poll(() => kept() - before, { timeout: 10_000 }).toBeLessThan(8 * 1024 * 1024);
  own.stop();
});

test('who has no stream is not heard', async () => {
  const own = createOpenStreams(gateway);
  await using agent = await evilAgent(own);
  agent.sayElsewhere(Buffer.from('x'));
  await until('it is heard', async () => own.strayFrames() === 1);
  agent.end.destroy();
  await gateway.flush();
  for (let at = 0; at < 1000; at++) agent.sayElsewhere(Buffer.from('x'));
  await agent.flush();
  await gateway.flush();
  expect(own.strayFrames()).toBe(1);
  own.stop();
});

test.each([
  { name: 'of no stream', say: (agent: EvilAgent) => agent.sayElsewhere(Buffer.from('x')) },
  { name: 'that say it is there', say: (agent: EvilAgent) => agent.sayAlive() },
])('who floods with frames $name loses its streams for a while, and nobody else does', async ({ say }) => {
  const own = createOpenStreams(gateway);
  await using agent = await evilAgent(own);
  await using other = await evilAgent(own);
  const { clusterId } = agent;
  for (let at = 0; !agent.end.destroyed && at < 400; at++) {
    for (let frames = 0; frames < 500; frames++) say(agent);
    await agent.flush();
    await gateway.flush();
  }
  expect(agent.end.destroyed).toBe(true);
  expect(own.count({ clusterId, person: 'alice' })).toMatchObject({ toMember: 0, saysTooMuch: true });
  expect(other.end.destroyed).toBe(false);
  expect(own.count({ clusterId: other.clusterId, person: 'alice' }).saysTooMuch).toBe(false);
  own.stop();
});

test('an end before any head ends the stream, and the person does not wait', async () => {
  await using agent = await evilAgent();
  agent.say(frame('credit', 0, Buffer.from([0, 16, 0, 0])));
  agent.say(frame('end', 1));
  await agent.flush();
  agent.end.end();
  await expect.poll(() => agent.end.destroyed, { timeout: 5000 }).toBe(true);
});

test('an agent that says that it has a stream is waited for, though its member takes longer than a dead agent is given', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setInterval'] });
  const own = createOpenStreams(gateway);
  try {
    await using agent = await evilAgent(own);
    for (let turn = 1; turn <= 3; turn++) {
      agent.sayAlive();
      agent.sayElsewhere(Buffer.from('x'));
      await until('it is heard', async () => own.strayFrames() === turn);
      vi.advanceTimersByTime(0.9 * deadAfterMs);
    }
    expect(agent.end.destroyed).toBe(false);
    vi.advanceTimersByTime(deadAfterMs);
    expect(agent.end.destroyed).toBe(true);
  } finally {
    own.stop();
    vi.useRealTimers();
  }
});

test('an agent that says that it has no streams ends its own alone, and names without end are not read', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setInterval'] });
  const own = createOpenStreams(gateway);
  let said = 0;
  try {
    await using agent = await evilAgent(own);
    await using other = await evilAgent(own);
    const say = async (from: typeof agent, names?: string) => {
      from.sayAlive(names);
      from.sayElsewhere(Buffer.from('x'));
      said++;
      await until('it is heard', async () => own.strayFrames() === said);
    };
    await say(agent);
    await say(other);
    vi.advanceTimersByTime(2.1 * aliveEveryMs);
    await say(agent, 'x,'.repeat(4000));
    expect(agent.end.destroyed).toBe(false);
    await say(agent, '');
    expect([agent.end.destroyed, other.end.destroyed]).toEqual([true, false]);
  } finally {
    own.stop();
    vi.useRealTimers();
  }
});

test('no stream has the name by which each side says that it is there', () => {
  const request = { ...asked, version: 1, gateway: 'g', stream: aliveWord };
  expect(readStreamRequest(Buffer.from(JSON.stringify(request)))).toBeUndefined();
});
