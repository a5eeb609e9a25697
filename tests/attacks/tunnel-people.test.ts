import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, type ConnectionOptions } from 'node:tls';
import { directoryKeyStore, parseMemberAccess } from '@rollcall/agent';
import { connectBus } from '@rollcall/shared/bus';
import { encodeHeartbeat } from '@rollcall/shared/bus/heartbeat';
import { clusterRecord } from '@rollcall/shared/events';
import { resources } from '@rollcall/shared/kubernetes';
import type { StreamRequest } from '@rollcall/shared/tunnel';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startLocalAgent } from '../../cli/up/local-agent.ts';
import { startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';
import { headOf, stealGateway } from './stolen-gateway.ts';

/** The whole way, through a real API server: an agent that lies, a thief with the identity of the gateway, and who reaches its port. */
let hub: TestEmbeddedHub;
beforeAll(async () => {
  hub = await startTestEmbeddedHub({ settings: { 'member-gateway': { healthPort: '0' } } });
  await startLocalAgent(hub.up, { clusterName: 'local' });
  await untilItLetsPeopleIn('local');
});
afterAll(() => hub[Symbol.asyncDispose]());

const through = (name: string) => `/apis/proxy.rollcall.dev/v1alpha1/managedclusters/${name}/proxy`;

const untilItLetsPeopleIn = (name: string) =>
  until('the hub shows who gets in', async () => (await hub.cluster(name))?.status?.memberAccess);

/** What comes first of an answer, to the administrator of the hub; the rest is not waited for. */
async function firstOf(path: string, method = 'GET'): Promise<{ status: number; text: string; end(): void }> {
  const { server, caPem, certPem, keyPem } = hub.up.plane.userAccess('rollcall-admin', ['system:masters']);
  const { hostname: host, port } = new URL(server);
  const shown = { ca: caPem, cert: certPem, key: keyPem, agent: false };
  const asked = httpsRequest({ host, port, path, method, ...shown }).end();
  asked.on('error', () => undefined);
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.on('error', () => undefined);
  const hasBody = method !== 'HEAD' && answer.statusCode !== 204;
  const text = hasBody ? String(((await once(answer, 'data')) as [Buffer])[0]) : '';
  return { status: answer.statusCode ?? 0, text, end: () => asked.destroy() };
}

async function openStreams(): Promise<number> {
  const gateway = hub.up.services.find(({ name }) => name === 'member-gateway');
  const text = await (await fetch(`http://127.0.0.1:${gateway?.healthPort}/metrics`)).text();
  return Number(/^rollcall_gateway_streams (\d+)/m.exec(text)?.[1]);
}

function frame(
  kind: 'head' | 'data' | 'end' | 'credit',
  sequence: number,
  payload: Uint8Array | string = '',
) {
  const prefix = Buffer.alloc(kind === 'head' ? 9 : 5);
  prefix.writeUInt8({ data: 0x01, head: 0x41, end: 0x81, credit: 0x03 }[kind]);
  prefix.writeUInt32BE(sequence, 1);
  if (kind === 'head') prefix.writeUInt32BE(payload.length, 5);
  return Buffer.concat([prefix, Buffer.from(payload)]);
}

/** Says frames of one stream, one after the other. */
type Answer = (say: (kind: 'head' | 'data' | 'end', payload?: string) => void) => void;

/** Somebody with the credential of an approved agent, and no agent: it answers people as it likes. */
async function evilAgent(name: string) {
  const token = await hub.createToken({ clusterName: name });
  const memberAccess = parseMemberAccess(['user:rollcall-admin']);
  const { agent, directory } = await hub.startAgent({ name, token: token.text, more: { memberAccess } });
  await untilItLetsPeopleIn(name);
  await agent.stop();
  await until('it is away', async () => (await hub.cluster(name))?.status?.liveness === 'stopped');
  const state = await directoryKeyStore(directory).load();
  if (!state?.member) throw new Error('it has no credential');
  const { clusterId, seed, member } = state;
  const bus = await connectBus(hub.up.natsAddress, { jwt: member.jwt, seed }, clusterId);
  const heartbeats = setInterval(() => {
    bus.publish(`rollcall.heartbeat.${clusterId}`, encodeHeartbeat({ flags: 0, agentTimeMs: Date.now() }));
  }, 1000);
  const opened: { request: StreamRequest; say: Parameters<Answer>[0] }[] = [];
  let answer: Answer = () => undefined;
  const alive = new Map<string, string[]>();
  bus.subscribe(`rollcall.tunnel.open.${clusterId}`, {
    callback(_error, message) {
      const request = JSON.parse(message.string()) as StreamRequest;
      const place = `rollcall.tunnel.up.${clusterId}.${request.gateway}`;
      alive.set(place, [...(alive.get(place) ?? []), request.stream]);
      let sequence = 0;
      bus.publish(`${place}.${request.stream}`, frame('credit', sequence++, Buffer.from([0, 16, 0, 0])));
      const say: Parameters<Answer>[0] = (kind, payload = '') =>
        bus.publish(`${place}.${request.stream}`, frame(kind, sequence++, payload));
      opened.push({ request, say });
      answer(say);
    },
  });
  const living = setInterval(() => {
    for (const [place, streams] of alive) bus.publish(`${place}.alive`, streams.join(','));
  }, 1000);
  await until('it is heard again', async () => (await hub.cluster(name))?.status?.liveness === 'ready');
  return {
    opened,
    answers: (next: Answer) => void (answer = next),
    async [Symbol.asyncDispose]() {
      clearInterval(heartbeats);
      clearInterval(living);
      await bus.close();
    },
  };
}

const watchPath = () => `${through('local')}/api/v1/namespaces?watch=true`;
const head = (status: number, headers: readonly (readonly [string, string])[] = []) =>
  JSON.stringify({ status, message: 'OK', headers });

test('an agent that is too old for what is asked of it says so, and the hub what to do', async () => {
  await using old = await evilAgent('old-agent');
  const why = 'the agent is older than the hub, and does not know how to pass this on';
  old.answers((say) => say('head', JSON.stringify({ refused: 'version', why })));
  const { status, text, end } = await firstOf(`${through('old-agent')}/version`);
  end();
  expect(status).toBe(503);
  expect(JSON.parse(text)).toMatchObject({
    kind: 'Status',
    reason: 'ServiceUnavailable',
    message: expect.stringMatching(/older than the hub.*upgrade it/),
  });
});

describe('one agent, and what people read of the members of others', () => {
  test('a body longer than it is said to be is no answer to who asks next', async () => {
    await using evil = await evilAgent('evil-length');
    const json: [string, string] = ['Content-Type', 'application/json'];
    evil.answers((say) => {
      say('head', head(200, [json, ['Content-Length', '2']]));
      say('data', '{}');
    });
    const first = await firstOf(`${through('evil-length')}/version`);
    expect(first.text).toBe('{}');
    const next = firstOf(watchPath());
    await until('the other request is on its way', async () => (await openStreams()) === 2);
    const body = '{"forged":true}';
    evil.opened[0]?.say(
      'data',
      `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const { text, end } = await next;
    end();
    first.end();
    expect(text).not.toContain('forged');
    expect(JSON.parse(text.split('\n')[0] ?? '')).toMatchObject({ object: { kind: 'Namespace' } });
  });

  test('an answer without a body that does not end keeps nobody waiting who asks next', async () => {
    await using evil = await evilAgent('evil-silent');
    evil.answers((say) => say('head', head(204)));
    const first = await firstOf(`${through('evil-silent')}/version`);
    expect(first.status).toBe(204);
    let isAnswered = false;
    const askNext = async () => {
      const answer = await firstOf(watchPath());
      isAnswered = true;
      answer.end();
    };
    const next = askNext();
    try {
      await expect.poll(() => isAnswered, { timeout: 10_000 }).toBe(true);
    } finally {
      for (const { say } of evil.opened) say('end');
      await next;
      first.end();
    }
  });
});

const configMap = (name: string) =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' } });
const json: [string, string] = ['content-type', 'application/json'];
const isThere = async (name: string) =>
  (await hub.up.admin.get(resources.configMaps, { namespace: 'default', name })) !== undefined;

const administrator = { user: 'rollcall-admin', groups: ['system:masters'] };
const setAccess = (name: string, memberAccess: 'Denied' | 'Allowed') =>
  hub.up.admin.mergePatch(resources.managedClusters, name, { spec: { memberAccess } });
const shut = { refused: 'off', why: expect.stringContaining('shut on its hub') };
describe('the identity of the gateway in wrong hands', () => {
  test('a body longer than it is said to be is no second request, which would be the agent’s own', async () => {
    const token = await hub.createToken({ clusterName: 'smuggled' });
    const more = { memberAccess: parseMemberAccess(['user:alice']) };
    // Known to its member by a certificate, as agents of `rollcall agent run` and of `rollcall up` are.
    await hub.startAgent({ name: 'smuggled', token: token.text, more });
    await untilItLetsPeopleIn('smuggled');
    await using stolen = await stealGateway(hub);
    const create = { method: 'POST', path: '/api/v1/namespaces/default/configmaps' };
    const told = await stolen.ask('smuggled', { ...create, headers: [json], body: configMap('by-alice') });
    // She has no right in the member.
    expect(told['status']).toBe(403);
    const second = configMap('smuggled');
    const behind = [
      `POST ${create.path} HTTP/1.1`,
      'Host: member',
      'Content-Type: application/json',
      `Content-Length: ${second.length}`,
    ].join('\r\n');
    const first = '{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}';
    const asked = {
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      headers: [json, ['content-length', String(first.length)]] as [string, string][],
      body: `${first}${behind}\r\n\r\n${second}`,
    };
    await stolen.ask('smuggled', asked).catch(() => undefined);
    // Whatever became of it has become of it by the time that this is answered.
    for (let count = 0; count < 20; count++) await stolen.ask('smuggled', { path: '/version' });
    expect(await isThere('smuggled')).toBe(false);
  });

  test('it writes no object of the hub, and reads no Secret there: the hub as a member of itself lets nobody do more than look', async () => {
    await using stolen = await stealGateway(hub);
    const clusterId = (await hub.cluster('local'))?.spec?.clusterId ?? '';
    const objects = '/api/v1/namespaces/default/configmaps';
    expect((await stolen.ask(clusterId, { ...administrator, path: objects }))['status']).toBe(200);
    const create = { ...administrator, method: 'POST', path: objects, headers: [json] };
    expect((await stolen.ask(clusterId, { ...create, body: configMap('by-the-thief') }))['status']).toBe(403);
    expect(await isThere('by-the-thief')).toBe(false);
    const secrets = { ...administrator, path: '/api/v1/secrets' };
    expect((await stolen.ask(clusterId, secrets))['status']).toBe(403);
  });

  test('a cluster that the hub has shut is shut to it as well, at once and for what it has open', async () => {
    await using stolen = await stealGateway(hub);
    const clusterId = (await hub.cluster('local'))?.spec?.clusterId ?? '';
    const watch = stolen.open(clusterId, { ...administrator, path: '/api/v1/namespaces?watch=true' });
    watch.once('heard', () => watch.end());
    expect((await headOf(watch))['status']).toBe(200);
    const ended = once(watch, 'close').catch((error: unknown) => error);
    await setAccess('local', 'Denied');
    await ended;
    expect(await stolen.ask(clusterId, { ...administrator, path: '/version' })).toEqual(shut);
    await setAccess('local', 'Allowed');
    await until('it is let in again', async () => {
      const told = await stolen.ask(clusterId, { ...administrator, path: '/version' });
      return told['status'] === 200;
    });
  });

  test('an agent that was away when its cluster was shut lets nobody in when it is back, and asks its hub before', async () => {
    const more = { memberAccess: parseMemberAccess(['user:alice']) };
    const token = await hub.createToken({ clusterName: 'away-when-shut' });
    const { agent, directory } = await hub.startAgent({ name: 'away-when-shut', token: token.text, more });
    await untilItLetsPeopleIn('away-when-shut');
    await using stolen = await stealGateway(hub);
    expect((await stolen.ask('away-when-shut', { path: '/version' }))['status']).toBe(200);
    await agent.stop();
    await setAccess('away-when-shut', 'Denied');
    await until('it is decided', async () => {
      const { decision } = clusterRecord(await hub.log.read({ kind: 'cluster', id: 'away-when-shut' }));
      return decision?.memberAccess === 'Denied';
    });
    await hub.startAgent({ name: 'away-when-shut', token: token.text, directory, more });
    const told: Record<string, unknown>[] = [];
    const askOnce = async () => told.push(await stolen.ask('away-when-shut', { path: '/version' }));
    await until('its agent answers', async () => {
      void askOnce().catch(() => undefined);
      return told.length > 0;
    });
    expect(told).toEqual(told.map(() => shut));
  });
});

describe('anybody who reaches the port of the gateway', () => {
  const upgrade = 'GET /x HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n';
  const dial = async () => {
    const port = Number(hub.up.serviceOptions.memberGateway?.['servingPort']);
    // It goes on where the other side has ended, as an attacker does.
    const options = { host: '127.0.0.1', port, rejectUnauthorized: false, allowHalfOpen: true };
    const socket = connect(options as ConnectionOptions);
    socket.on('error', () => undefined);
    await once(socket, 'secureConnect');
    return socket;
  };

  test('is refused an upgrade, and the connection ends though he does not end it', async () => {
    const socket = await dial();
    let isClosed = false;
    socket.once('close', () => (isClosed = true));
    socket.write(upgrade);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(String(answer)).toContain('401');
    socket.resume();
    try {
      const writesOn = () => {
        socket.write('x');
        return isClosed;
      };
      await expect.poll(writesOn, { timeout: 10_000 }).toBe(true);
    } finally {
      socket.destroy();
    }
  });

  test('ends nothing by breaking connections off in the middle of it', async () => {
    for (let count = 0; count < 50; count++) {
      const socket = await dial();
      socket.write(upgrade);
      if (count % 2 === 0) await once(socket, 'data');
      socket.destroy();
    }
    const { status, end } = await firstOf(`${through('local')}/version`);
    end();
    expect(status).toBe(200);
  });
});
