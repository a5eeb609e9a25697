import { randomUUID } from 'node:crypto';
import { connect, headers, type MsgHdrs } from '@nats-io/transport-node';
import { type BusCredentials, connectionOptions, jwtProof } from '@rollcall/shared/bus';
import { clusterIdOf, type StoredEvent } from '@rollcall/shared/events';
import { isPrintable } from '@rollcall/shared/text';
import { createNkey, decodeJwt, encodeJwt, type Nkey, signMessage } from '@rollcall/shared/trust';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { declareToken } from '../harness/events.ts';
import { jetStreamSubjects } from '../harness/jetstream-subjects.ts';
import { connectWithCredentials, connectWithToken, freshId, type RawAgent } from '../harness/raw-agent.ts';
import { aJoin, askToJoin } from '../harness/join.ts';
import {
  type AttackedRegistrar,
  outcomeOf,
  refusedWhile,
  startAttackedRegistrar,
} from './attacked-registrar.ts';

/** Over the bus, with everything that a valid token gives. */
let world: AttackedRegistrar;
let token: Awaited<ReturnType<typeof declareToken>>;
beforeAll(async () => {
  world = await startAttackedRegistrar();
  const more = { uses: 'unlimited' as const, allowLabels: ['*'] };
  token = await declareToken(world.approverLog, world.hub.hub.hubId, more);
});
afterAll(() => world[Symbol.asyncDispose]());

async function anAgent(): Promise<RawAgent> {
  const agent = await connectWithToken(world.hub, token);
  onTestFinished(() => agent.nc.close());
  return agent;
}
async function aMember(name = 'id-of-a-member'): Promise<RawAgent> {
  const credentials = world.hub.agentCredentials('member', name);
  const agent = await connectWithCredentials(world.hub, keyOf(credentials), credentials);
  onTestFinished(() => agent.nc.close());
  return agent;
}
const keyOf = ({ seed, publicKey }: { seed: string; publicKey: string }): Nkey => ({
  seed,
  publicKey,
  sign: (data) => {
    const text = typeof data === 'string' ? data : new TextDecoder().decode(data);
    return jwtProof({ jwt: '', seed })(text).sig;
  },
});

/** The answer to what was asked; what could not be read at all is answered to nothing in particular. */
async function outcomeOfJoin(agent: RawAgent, body: unknown): Promise<string> {
  const unread = agent.nextNews().then(({ result }) => result);
  return outcomeOf(await Promise.race([askToJoin(agent, token, body), unread]));
}

async function eventsOf(clusterId: string): Promise<StoredEvent[]> {
  return Array.fromAsync(world.opsLog.scan({ filter: `cluster.${clusterId}.*` }));
}

const unsafe = [
  { name: 'a dot', text: 'a.b' },
  { name: 'a star', text: '*' },
  { name: 'a tail wildcard', text: '>' },
  { name: 'a wildcard within', text: 'a*' },
  { name: 'a blank', text: 'a b' },
  { name: 'a line end and a command', text: 'a\r\nPUB rollcall.events.hub.one.outage 2\r\n{}' },
  { name: 'NUL', text: 'a\0b' },
  { name: 'a right-to-left override', text: '\u202ea' },
  { name: 'four bytes', text: '\u{1f680}' },
  { name: 'a composed letter', text: 'caf\u00e9' },
  { name: 'its decomposed twin', text: 'cafe\u0301' },
  { name: 'a homoglyph', text: '\u0430dmin' },
  { name: 'nothing', text: '' },
  { name: 'an upper-case twin', text: 'One' },
  { name: 'a dash in front', text: '-rf' },
  { name: '64 characters', text: 'x'.repeat(64) },
  { name: '1 KiB', text: 'x'.repeat(1024) },
  { name: 'a path', text: '../../kube-system' },
] as const;
const refusals = /^(CLUSTER_ID_INVALID|CLUSTER_NAME_INVALID|REQUEST_INVALID|REQUEST_TOO_LARGE)$/;

describe('what would become a subject', () => {
  test.each(unsafe)('$name as a cluster id is refused, and nothing is written', async ({ text }) => {
    const agent = await anAgent();
    const { result, events } = await world.eventsDuring(() =>
      outcomeOfJoin(agent, aJoin(token, { clusterId: text })),
    );
    expect(result).toMatch(refusals);
    expect(events).toEqual([]);
  });

  test.each(unsafe)('$name as a cluster name is refused, and nothing is written', async ({ text }) => {
    const agent = await anAgent();
    const { result, events } = await world.eventsDuring(() =>
      outcomeOfJoin(agent, aJoin(token, { clusterName: text })),
    );
    expect(result).toMatch(refusals);
    expect(events).toEqual([]);
  });

  const asClientId = unsafe.filter(({ text }) => text !== '' && text.length < 254);
  test.each(asClientId.filter(({ text }) => !isPrintable(text)))(
    '$name as a client id is refused, because Kubernetes shows it as it is',
    async ({ text }) => {
      const ours = aJoin(token, { clusterId: clusterIdOf(text), clientId: text });
      expect(await outcomeOfJoin(await anAgent(), ours)).toBe('CLUSTER_ID_INVALID');
    },
  );

  test.each(asClientId.filter(({ text }) => isPrintable(text)))(
    '$name as a client id is a hash on the bus, and kept as it was given',
    async ({ text }) => {
      const agent = await anAgent();
      const clusterId = clusterIdOf(text);
      const asItIs = await outcomeOfJoin(agent, aJoin(token, { clusterId: text, clientId: text }));
      expect(asItIs).toMatch(refusals);
      expect(clusterId).toMatch(/^h-[0-9a-f]{40}$/);
      const ours = aJoin(token, { clusterId, clientId: text });
      expect(await outcomeOfJoin(await anAgent(), ours)).toBe('waiting');
      expect((await world.cluster(clusterId)).identity?.clientId).toBe(text);
    },
  );

  test.each(
    (['renew', 'facts', 'leave'] as const).flatMap((verb) =>
      ['*', '>', 'a.b', 'a b', 'a\r\nb', '\0'].map((text) => ({ verb, text, shown: JSON.stringify(text) })),
    ),
  )('a member that asks $verb for $shown is refused', async ({ verb, text }) => {
    const member = await aMember();
    const more = { renew: {}, facts: { facts: {} }, leave: { done: true } }[verb];
    const { result, events } = await world.eventsDuring(() =>
      member.request(verb, { clusterId: text, ...more }),
    );
    expect(outcomeOf(result.result)).toBe('CLUSTER_ID_INVALID');
    expect(events).toEqual([]);
  });
});

test('labels that a selector, the API server or we ourselves would read otherwise are left out, and named [FL-3]', async () => {
  const evil = {
    'a,b': 'x',
    'a=b': 'x',
    'a in (b)': 'x',
    '!a': 'x',
    '': 'x',
    'a..b/c': 'x',
    'a.-b/c': 'x',
    'a/b/c': 'x',
    '/a': 'x',
    'a\nb': 'x',
    'caf\u00e9': 'x',
    'rollcall.dev/cluster-set': 'global',
    'x.rollcall.dev/y': 'x',
    'kubernetes.io/metadata.name': 'x',
    'node.kubernetes.io/x': 'x',
    'k8s.io/x': 'x',
    'value-with-comma': 'a,b',
    'value-with-set': 'in (a,b)',
    'value-with-line': 'a\nb',
    'value-of-two-scripts': '\u0430dmin',
  };
  const agent = await anAgent();
  const fine = { env: 'prod', 'example.com/team': 'a.b_c-d', empty: '' };
  const body = aJoin(token, { labels: { ...evil, ...fine } });
  expect(await outcomeOfJoin(agent, body)).toBe('waiting');
  const { identity } = await world.cluster(body.clusterId);
  expect(identity?.request.labels).toEqual(fine);
  expect(identity?.request.droppedLabels.toSorted()).toEqual(Object.keys(evil).toSorted());
});

describe('JSON that two readers could read in two ways', () => {
  async function askInText(agent: RawAgent, change: (text: string) => string) {
    const body = aJoin(token);
    const content = { v: 1, hub: world.hub.hub.hubId, verb: 'join', id: freshId(), atMs: Date.now(), body };
    const signed = change(JSON.stringify(content));
    const { signatures } = signMessage('', []);
    const by = [agent.key, token.key].map((key) => [key.publicKey, key.sign(signed)]);
    const news = agent.nextNews();
    const message = JSON.stringify({ signed, signatures: { ...signatures, ...Object.fromEntries(by) } });
    agent.nc.publish(`rollcall.request.${agent.key.publicKey}.join`, message);
    return { body, outcome: outcomeOf((await news).result) };
  }

  test.each([
    { name: '__proto__', text: '"__proto__":{"clusterName":"kube-system"},' },
    { name: '__proto__ in escapes', text: '"\\u005f_proto__":{"clusterName":"kube-system"},' },
    { name: 'constructor', text: '"constructor":{"prototype":{"isAdmin":true}},' },
    { name: 'a field that is not ours', text: '"approved":true,' },
  ])('$name is refused', async ({ text }) => {
    const agent = await anAgent();
    const { result, events } = await world.eventsDuring(() =>
      askInText(agent, (whole) => whole.replace('{"clusterId"', `{${text}"clusterId"`)),
    );
    expect(result.outcome).toBe('REQUEST_INVALID');
    expect(events).toEqual([]);
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
  });

  test('of a key that is there twice the last one counts, for the check and for the event', async () => {
    const agent = await anAgent();
    const twice = (whole: string) => whole.replace('{"clusterId"', '{"clusterId":"*","clusterId"');
    const { body, outcome } = await askInText(agent, twice);
    expect(outcome).toBe('waiting');
    expect((await world.cluster(body.clusterId)).identity?.clusterId).toBe(body.clusterId);
    const other = (whole: string) => whole.replace(/("clusterId":"[^"]+")/, '$1,"clusterId":"*"');
    expect((await askInText(await anAgent(), other)).outcome).toBe('CLUSTER_ID_INVALID');
  });
});

describe('headers that an agent sends', () => {
  const forged: readonly Record<string, string>[] = [
    { 'Nats-Msg-Id': 'the-same' },
    { 'Nats-Expected-Stream': 'EVENTS', 'Nats-Expected-Last-Sequence': '0' },
    { 'Nats-Expected-Last-Subject-Sequence': '999', 'Nats-Expected-Last-Subject-Sequence-Subject': '>' },
    { 'Nats-Batch-Id': 'b', 'Nats-Batch-Sequence': '1', 'Nats-Batch-Commit': '1' },
    { 'Nats-Rollup': 'all' },
    { 'Nats-TTL': '1s' },
    { 'ce-source': '/rollcall/approver', 'ce-type': 'dev.rollcall.cluster.approved.v1', 'ce-id': 'x' },
    { 'Nats-Request-Info': '{"acc":"HUB","user":"approver"}' },
    { 'Nats-Server-Xkey': 'X' },
    { Status: '503' },
    { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01\u0001` },
  ];
  function asHeaders(all: Readonly<Record<string, string>>): MsgHdrs {
    const made = headers();
    for (const [name, value] of Object.entries(all)) made.set(name, value);
    return made;
  }
  function aMessage(agent: RawAgent, body: unknown): { subject: string; data: string } {
    const content = { v: 1, hub: world.hub.hub.hubId, verb: 'join', id: freshId(), atMs: Date.now(), body };
    return {
      subject: `rollcall.request.${agent.key.publicKey}.join`,
      data: JSON.stringify(signMessage(content, [agent.key, token.key])),
    };
  }

  test.each(forged.map((all) => ({ all, name: Object.keys(all).join(', ') })))(
    '$name: read by nobody, the event is the registrar’s own',
    async ({ all }) => {
      const agent = await anAgent();
      const body = aJoin(token);
      const { subject, data } = aMessage(agent, body);
      const { result, events } = await world.eventsDuring(async () => {
        const news = agent.nextNews();
        agent.nc.publish(subject, data, { headers: asHeaders(all) });
        return outcomeOf((await news).result);
      });
      expect(result).toBe('waiting');
      expect(events.toSorted()).toEqual(['cluster.requested', 'key.taken', 'name.taken', 'token.used']);
      const [event] = await eventsOf(body.clusterId);
      expect(event).toMatchObject({ source: '/rollcall/registrar', type: 'requested' });
      expect(event?.eventId).not.toBe('x');
      expect(event?.traceparent ?? '').not.toContain('\u0001');
    },
  );

  test.each([{ only: true }, { only: false }])(
    'a trace (only: $only) reaches neither another agent nor the events',
    async ({ only }) => {
      const [agent, victim] = [await anAgent(), await anAgent()];
      const heard: string[] = [];
      victim.nc.subscribe('rollcall.reply.*.>', { callback: () => undefined });
      victim.nc.subscribe(`rollcall.reply.${victim.key.publicKey}.>`, {
        callback: (error, message) => void (error === null && heard.push(message.subject)),
      });
      await victim.nc.flush();
      const { events } = await world.eventsDuring(async () => {
        for (const destination of [
          `rollcall.reply.${victim.key.publicKey}.trace`,
          'rollcall.events.hub.one.outage',
          ...jetStreamSubjects('STREAM.PURGE.EVENTS'),
        ]) {
          const trace = { 'Nats-Trace-Dest': destination, ...(only ? { 'Nats-Trace-Only': 'true' } : {}) };
          agent.nc.publish(`rollcall.request.${agent.key.publicKey}.join`, '{}', {
            headers: asHeaders(trace),
          });
        }
        // What was sent before it has been dealt with when this is answered.
        expect(await askToJoin(await anAgent(), token, aJoin(token))).toMatchObject({ kind: 'waiting' });
        await agent.nc.flush();
        await victim.nc.flush();
      });
      expect(events.toSorted()).toEqual(['cluster.requested', 'key.taken', 'name.taken', 'token.used']);
      expect(heard).toEqual([]);
    },
  );

  test.each([
    { name: 'the answers of another agent', reply: (victim: string) => `rollcall.reply.${victim}.join` },
    { name: 'an event', reply: () => 'rollcall.events.cluster.id-1.approved' },
    ...jetStreamSubjects('STREAM.PURGE.EVENTS').map((subject) => ({ name: subject, reply: () => subject })),
    { name: 'an order to the server', reply: () => '$SYS.REQ.SERVER.PING' },
    { name: 'the inbox of a service', reply: () => '_INBOX_approver.x' },
    { name: 'the heartbeats of another', reply: () => 'rollcall.heartbeat.id-1' },
    { name: 'another request', reply: (victim: string) => `rollcall.request.${victim}.join` },
  ])('a reply subject that is $name is not where the answer goes', async ({ reply }) => {
    const [agent, victim] = [await anAgent(), await anAgent()];
    const heard: string[] = [];
    victim.nc.subscribe(`rollcall.reply.${victim.key.publicKey}.>`, {
      callback: (error, message) => void (error === null && heard.push(message.subject)),
    });
    await victim.nc.flush();
    const body = aJoin(token);
    const { subject, data } = aMessage(agent, body);
    const { result, events } = await world.eventsDuring(async () => {
      const news = agent.nextNews();
      agent.nc.publish(subject, data, { reply: reply(victim.key.publicKey) });
      return news;
    });
    expect(outcomeOf(result.result)).toBe('waiting');
    expect(result.to).toBe(agent.key.publicKey);
    expect(events.toSorted()).toEqual(['cluster.requested', 'key.taken', 'name.taken', 'token.used']);
    await victim.nc.flush();
    expect(heard).toEqual([]);
  });

  test('a reply subject that would be an acknowledgement is refused by the server', async () => {
    const agent = await anAgent();
    const { subject, data } = aMessage(agent, aJoin(token));
    const reply = '$JS.ACK.EVENTS.approver.1.1.1.1.1';
    const { result, events } = await world.eventsDuring(() =>
      refusedWhile(agent.nc, () => agent.nc.publish(subject, data, { reply })),
    );
    expect(result).toEqual([expect.stringContaining(reply)]);
    expect(events).toEqual([]);
  });
});

describe('a JWT that was tampered with', () => {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const payload = (jwt: string) => decodeJwt(jwt) as unknown as Record<string, unknown>;
  interface Made {
    readonly jwt: string;
    readonly key: Nkey;
  }
  const resigned = (claims: unknown, key: Nkey, head: object = { typ: 'JWT', alg: 'ed25519-nkey' }) => {
    const text = `${encode(head)}.${encode(claims)}`;
    return `${text}.${key.sign(text)}`;
  };
  const tricks: readonly { name: string; make: (good: Made) => string }[] = [
    {
      name: 'alg none',
      make: ({ jwt }) => `${encode({ typ: 'JWT', alg: 'none' })}.${encode(payload(jwt))}.`,
    },
    {
      name: 'alg HS256 with the public key as the secret',
      make: ({ jwt, key }) => resigned(payload(jwt), key, { typ: 'JWT', alg: 'HS256' }),
    },
    {
      name: 'another typ',
      make: ({ jwt, key }) => resigned(payload(jwt), key, { typ: 'X', alg: 'ed25519' }),
    },
    { name: 'no signature', make: ({ jwt }) => `${jwt.split('.').slice(0, 2).join('.')}.` },
    {
      name: 'another name under the old signature',
      make({ jwt }) {
        const [head, , signature] = jwt.split('.');
        return `${head}.${encode({ ...payload(jwt), name: 'id-of-the-victim' })}.${signature}`;
      },
    },
    {
      name: 'a life without end under the old signature',
      make({ jwt }) {
        const [head, , signature] = jwt.split('.');
        const { exp: _dropped, ...claims } = payload(jwt);
        return `${head}.${encode(claims)}.${signature}`;
      },
    },
    {
      name: 'itself as the issuer',
      make: ({ jwt, key }) => resigned({ ...payload(jwt), iss: key.publicKey }, key),
    },
    {
      name: 'an account of its own as the issuer',
      make({ jwt }) {
        const account = createNkey('account');
        return resigned({ ...payload(jwt), iss: account.publicKey }, account);
      },
    },
    {
      name: 'the account of the services',
      make({ jwt, key }) {
        const nats = { ...(payload(jwt)['nats'] as object), issuer_account: world.hub.hub.keys.hub };
        return encodeJwt({ subject: key.publicKey, nowMs: Date.now(), nats }, createNkey('account'));
      },
    },
  ];

  const tryToConnect = (jwt: string, key: Nkey) =>
    connect({
      ...connectionOptions(world.hub.address, 'agent'),
      maxReconnectAttempts: 0,
      ignoreAuthErrorAbort: false,
      authenticator: (nonce = '') => ({ jwt, nkey: '', sig: key.sign(nonce) }),
    });

  test.each(tricks)('$name: the server does not let it in', async ({ make }) => {
    const credentials: BusCredentials & { publicKey: string } = world.hub.agentCredentials(
      'member',
      `id-${randomUUID()}`,
    );
    const key = keyOf(credentials);
    const { events } = await world.eventsDuring(async () => {
      await expect(tryToConnect(make({ jwt: credentials.jwt, key }), key)).rejects.toThrow(/uthorization/);
    });
    expect(events).toEqual([]);
    // The good one does get in, so it was the change that was refused.
    const nc = await tryToConnect(credentials.jwt, key);
    await nc.close();
  });
});
