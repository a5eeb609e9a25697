import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { NatsConnection } from '@nats-io/transport-node';
import { connectBus } from '@rollcall/shared/bus';
import { TunnelStream } from '@rollcall/shared/tunnel';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { MemberAccess } from '../../agent/tunnel/impersonation.ts';
import { memberRequest } from '../../agent/tunnel/judge-request.ts';
import { carryRequest } from '../../services/member-gateway/carry-request.ts';
import { createOpenStreams, type Streams } from '../../services/member-gateway/open-streams.ts';
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

/** Frames as the agent of the victim would make them. */
function framesOf(body: string): Uint8Array[] {
  const frames: Uint8Array[] = [];
  const end = new TunnelStream({
    side: 'opened',
    hasBody: false,
    send: (frame) => frames.push(frame),
    onClosed: () => undefined,
  });
  end.sendHead({ status: 200, message: 'OK', headers: [] });
  end.end(body);
  end.sayNow();
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
  // Without a stream to it nobody would hear it at all.
  const toAttacker = streams.open({ clusterId: attacker, person: 'alice' }, asked);

  const evil = await connectBus(hub.address, hub.agentCredentials('member', attacker), attacker);
  await using raw = await connectRaw(hub, hub.agentCredentials('member', attacker));
  const place = `${name}.${stream}`;
  // On the subject of the victim the server lets nobody else speak, and a reply to it is one to nobody.
  const reply = `rollcall.tunnel.up.${victim}.${place}`;
  expect(await raw.isRefused({ subject: reply, body: 'x' })).toBe(true);
  await raw.send([{ subject: `rollcall.tunnel.up.${attacker}.${place}`, reply, body: 'x' }]);
  for (const frame of framesOf('forged')) evil.publish(`rollcall.tunnel.up.${attacker}.${place}`, frame);
  await evil.flush();
  await until('all of it has come', async () => streams.strayFrames() >= 2);
  expect(heads).toEqual([]);

  for (const frame of framesOf('genuine')) own.publish(`rollcall.tunnel.up.${victim}.${place}`, frame);
  const body = await new Promise<string>((resolve) => {
    let text = '';
    end.on('data', (data: Buffer) => (text += data.toString('utf8'))).on('end', () => resolve(text));
  });
  expect([heads.length, body]).toEqual([1, 'genuine']);
  toAttacker?.destroy();
  await Promise.all([own.close(), evil.close()]);
});

test('an agent that says more than its answer is long says it to nobody else', async () => {
  const clusterId = randomUUID();
  const agent = await connectBus(hub.address, hub.agentCredentials('member', clusterId), clusterId);
  const forged = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged';
  agent.subscribe(`rollcall.tunnel.open.${clusterId}`, {
    callback(_error, message) {
      const { gateway: name, stream } = JSON.parse(message.string()) as { gateway: string; stream: string };
      const end = new TunnelStream({
        side: 'opened',
        hasBody: false,
        send: (frame) => agent.publish(`rollcall.tunnel.up.${clusterId}.${name}.${stream}`, frame),
        onClosed: () => undefined,
      });
      end.sendHead({ status: 200, message: 'OK', headers: [['Content-Length', '2']] });
      end.end(`ok${forged}`);
    },
  });
  await agent.flush();
  const server = createServer((request, response) => {
    const stream = streams.open({ clusterId, person: 'alice' }, asked);
    if (stream) void carryRequest(stream, request, response, false);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  // As the hub's API server does, which asks for many people over one connection.
  const { port } = server.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}/`);
  expect(await answer.text()).toBe(`ok${forged}`);
  server.close();
  server.closeAllConnections();
  await agent.close();
});

test('a length that is not that of the body is not passed on to the member, where the rest would be the next request', () => {
  const request = { ...asked, version: 1, gateway: 'g', stream: 's', groups: [...asked.groups] };
  const access: MemberAccess = { as: 'people', users: ['alice'], groups: {} };
  const shapes = [{ hasBody: true }, { hasBody: false }, { hasBody: true, upgrade: 'websocket' }];
  for (const shape of shapes) {
    const said = memberRequest({ ...request, ...shape, headers: [['Content-Length', '100']] }, access);
    expect('headers' in said && Object.keys(said.headers)).not.toContain('content-length');
  }
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
