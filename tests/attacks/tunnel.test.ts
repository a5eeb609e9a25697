import { randomUUID } from 'node:crypto';
import type { NatsConnection } from '@nats-io/transport-node';
import { connectBus } from '@rollcall/shared/bus';
import { TunnelStream } from '@rollcall/shared/tunnel';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createStreams, type Streams } from '../../services/member-gateway/streams.ts';
import { until } from '../harness/embedded.ts';
import { connectRaw } from '../harness/raw-bus.ts';
import { startTestHub, type TestHub } from '../harness/test-hub.ts';

/** Two members of one hub, whose streams go over one bus: what one of them sends, whatever it is, is nothing on a stream of the other. */
let hub: TestHub;
let gateway: NatsConnection;
let streams: Streams;
beforeAll(async () => {
  hub = await startTestHub();
  gateway = await connectBus(hub.address, hub.credentialsOf('member-gateway'), 'member-gateway');
  streams = createStreams(gateway);
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

/** Frames as the agent of the victim would make them. */
function framesOf(body: string): Uint8Array[] {
  const frames: Uint8Array[] = [];
  const end = new TunnelStream({
    side: 'opened',
    send: (frame) => frames.push(frame),
    onClosed: () => undefined,
  });
  end.accept();
  end.sendHead({ status: 200, message: 'OK', headers: [] });
  end.end(body);
  return frames;
}

test('an agent that answers for a stream of another cluster is heard by nobody, and counted', async () => {
  const [victim, attacker] = [randomUUID(), randomUUID()];
  const own = await connectBus(hub.address, hub.agentCredentials('member', victim), victim);
  const opened = Promise.withResolvers<{ gateway: string; stream: string }>();
  own.subscribe(`rollcall.tunnel.open.${victim}`, {
    callback: (_error, message) => opened.resolve(JSON.parse(message.string())),
  });
  await own.flush();
  const end = streams.open({ clusterId: victim, person: 'alice' }, asked);
  if (!end) throw new Error('not opened');
  const heads: string[] = [];
  end.on('head', (data: Uint8Array) => heads.push(Buffer.from(data).toString('utf8')));
  const { gateway: name, stream } = await opened.promise;

  const evil = await connectBus(hub.address, hub.agentCredentials('member', attacker), attacker);
  await using raw = await connectRaw(hub, hub.agentCredentials('member', attacker));
  const place = `${name}.${stream}`;
  // On the subject of the victim the server lets nobody else speak, and a reply to it is one to nobody.
  const reply = `rollcall.tunnel.up.${victim}.${place}`;
  expect(await raw.isRefused({ subject: reply, body: 'x' })).toBe(true);
  await raw.send([{ subject: `rollcall.tunnel.up.${attacker}.${place}`, reply, body: 'x' }]);
  for (const frame of framesOf('forged')) evil.publish(`rollcall.tunnel.up.${attacker}.${place}`, frame);
  await evil.flush();
  await until('all of it has come', async () => streams.strayFrames() >= 5);
  expect(heads).toEqual([]);

  for (const frame of framesOf('genuine')) own.publish(`rollcall.tunnel.up.${victim}.${place}`, frame);
  const body = await new Promise<string>((resolve) => {
    let text = '';
    end.on('data', (data: Buffer) => (text += data.toString('utf8'))).on('end', () => resolve(text));
    end.end();
  });
  expect([heads.length, body]).toEqual([1, 'genuine']);
  await Promise.all([own.close(), evil.close()]);
});

test('an agent that answers garbage ends its own stream, and nobody else’s', async () => {
  const clusterId = randomUUID();
  const agent = await connectBus(hub.address, hub.agentCredentials('member', clusterId), clusterId);
  const places: { gateway: string; stream: string }[] = [];
  agent.subscribe(`rollcall.tunnel.open.${clusterId}`, {
    callback: (_error, message) => void places.push(JSON.parse(message.string())),
  });
  await agent.flush();
  const ends = [1, 2].map(() => streams.open({ clusterId, person: 'bob' }, asked));
  await until('both are open', async () => places.length === 2);
  const [first] = places;
  agent.publish(`rollcall.tunnel.up.${clusterId}.${first?.gateway}.${first?.stream}`, 'garbage');
  await until('the first has ended', async () => ends[0]?.destroyed);
  expect(ends[1]?.destroyed).toBe(false);
  ends[1]?.destroy();
  await until(
    'nothing is open any more',
    async () => streams.count({ clusterId, person: 'bob' }).inAll === 0,
  );
  await agent.close();
});
