import { connect } from '@nats-io/transport-node';
import { connectionOptions } from '@rollcall/shared/bus';
import { type TokenDeclaration, tokenRecord, tokenWithdrawn, draft } from '@rollcall/shared/events';
import {
  createNkey,
  createRegistrationToken,
  type Nkey,
  type RegistrationToken,
  tokenIdOf,
} from '@rollcall/shared/trust';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTokenSecret } from '../../libs/shared/trust/token.ts';
import { jetStreamSubjects } from '../harness/jetstream-subjects.ts';
import { connectWithToken, type RawAgent } from '../harness/raw-agent.ts';
import { aJoin, askToJoin } from '../harness/join.ts';
import {
  type AttackedRegistrar,
  outcomeOf,
  refusedWhile,
  startAttackedRegistrar,
} from './attacked-registrar.ts';

let world: AttackedRegistrar;
beforeAll(async () => {
  world = await startAttackedRegistrar();
});
afterAll(() => world[Symbol.asyncDispose]());

async function withdraw(token: RegistrationToken): Promise<void> {
  const record = tokenRecord(
    await world.approverLog.read({ kind: 'token', id: tokenIdOf(token.key.publicKey) }),
  );
  if (!record.declaration) throw new Error('not declared');
  const section = { ...record.declaration, withdrawn: true };
  const event = draft(tokenWithdrawn, record, { reason: 'Deleted', message: 'deleted', section });
  await world.approverLog.append([event], { correlation: 'test' });
}

/** What a client shows when it connects. All of it is the attacker's to choose. */
interface Shown {
  readonly nkey: string;
  readonly sign: (nonce: string) => string;
  readonly user: string;
  readonly pass: (nonce: string) => string;
}

async function connectShowing({ nkey, sign, user, pass }: Shown): Promise<void> {
  const nc = await connect({
    ...connectionOptions(world.hub.address, 'agent'),
    maxReconnectAttempts: 0,
    ignoreAuthErrorAbort: false,
    authenticator: (nonce = '') => ({ nkey, sig: sign(nonce), user, pass: pass(nonce) }),
  });
  await nc.close();
}

const other = createNkey('user');
const honest = (token: RegistrationToken, key: Nkey): Shown => ({
  nkey: token.key.publicKey,
  sign: (nonce) => token.key.sign(nonce),
  user: key.publicKey,
  pass: (nonce) => key.sign(nonce),
});

describe('whom the hub does not let in to ask', () => {
  test('the honest one is let in: what follows can fail', async () => {
    const token = await world.declare();
    await expect(connectShowing(honest(token, createNkey('user')))).resolves.toBeUndefined();
  });

  const cases: {
    name: string;
    shown: (token: RegistrationToken, key: Nkey) => Partial<Shown>;
    want: string;
  }[] = [
    {
      name: 'a token that nobody made',
      shown: () => ({ nkey: other.publicKey, sign: (nonce) => other.sign(nonce) }),
      want: 'UnknownToken',
    },
    {
      name: 'the public key of a token, which is no secret, and another signature',
      shown: () => ({ sign: (nonce) => other.sign(nonce) }),
      want: 'TokenNotProven',
    },
    {
      name: 'a signature of another nonce, captured from another connection',
      shown: (token) => ({ sign: () => token.key.sign('a nonce of before') }),
      want: 'TokenNotProven',
    },
    { name: 'no signature at all', shown: () => ({ sign: () => '' }), want: 'TokenNotProven' },
    {
      name: 'the key of another agent, to hear its answers, without its proof',
      shown: () => ({ user: other.publicKey }),
      want: 'KeyNotProven',
    },
    {
      name: 'a second proof of another nonce',
      shown: (_token, key) => ({ pass: () => key.sign('a nonce of before') }),
      want: 'KeyNotProven',
    },
    { name: 'a wildcard for a key, to hear everybody', shown: () => ({ user: '*' }), want: 'NoKey' },
    { name: 'the whole rest of the subject for a key', shown: () => ({ user: '>' }), want: 'NoKey' },
    {
      name: 'a key with a wildcard behind it',
      shown: (_token, key) => ({ user: `${key.publicKey}.>` }),
      want: 'NoKey',
    },
    {
      name: 'an account for a key',
      shown: () => ({ user: createNkey('account').publicKey }),
      want: 'NoKey',
    },
  ];
  test.each(cases)('$name', async ({ shown, want }) => {
    const token = await world.declare();
    const all = { ...honest(token, createNkey('user')) };
    const attack = { ...all, ...shown(token, createNkey('user')) };
    const { events } = await world.eventsDuring(() =>
      expect(connectShowing(attack)).rejects.toThrow(/uthorization/),
    );
    expect(await world.refusalOf(attack.nkey)).toBe(want);
    expect(events).toEqual([]);
    expect(await world.uses(token)).toBe(0);
  });

  test('a token that is not valid yet: made by its owner and not declared; declared, it is', async () => {
    const token = createRegistrationToken(world.hub.hub.hubId);
    await expect(connectShowing(honest(token, other))).rejects.toThrow(/uthorization/);
    expect(await world.refusalOf(token.key.publicKey)).toBe('UnknownToken');
    const early = await world.declare();
    await connectShowing(honest(early, other));
  });

  test('a token of another hub', async () => {
    const token = createRegistrationToken('AAAAAAAAAAAAAAAA');
    await expect(connectShowing(honest(token, other))).rejects.toThrow(/uthorization/);
    expect(await world.refusalOf(token.key.publicKey)).toBe('UnknownToken');
  });

  test('a token that was withdrawn', async () => {
    const token = await world.declare();
    await withdraw(token);
    await expect(connectShowing(honest(token, other))).rejects.toThrow(/uthorization/);
    expect(await world.refusalOf(token.key.publicKey)).toBe('UnknownToken');
  });
});

describe('what a token does not allow', () => {
  const nowMs = Date.now();
  const cases: {
    name: string;
    token?: Partial<TokenDeclaration>;
    body?: Record<string, unknown>;
    want: string;
  }[] = [
    { name: 'expired a second ago', token: { expiresAtMs: nowMs - 1000 }, want: 'TOKEN_EXPIRED' },
    { name: 'expires in this very moment', token: { expiresAtMs: nowMs }, want: 'TOKEN_EXPIRED' },
    { name: 'ended before time began', token: { expiresAtMs: -1 }, want: 'TOKEN_EXPIRED' },
    { name: 'made before a restore', token: { voidSinceEpoch: 2 }, want: 'TOKEN_OLD_EPOCH' },
    { name: 'another name', token: { clusterName: 'edge-1' }, want: 'TOKEN_NAME_MISMATCH' },
    { name: 'names of a pattern', token: { clusterName: 'edge-*' }, want: 'TOKEN_NAME_MISMATCH' },
    {
      name: 'a name with its own behind it',
      token: { clusterName: 'edge' },
      body: { clusterName: 'edge-1' },
      want: 'TOKEN_NAME_MISMATCH',
    },
    { name: 'another client id', token: { clientId: 'shop' }, want: 'TOKEN_NAME_MISMATCH' },
  ];
  test.each(cases)('$name', async ({ token: overrides, body: more, want }) => {
    const token = await world.declare(overrides);
    const agent = await world.agent(token);
    const body = aJoin(token, more);
    const { result, events } = await world.eventsDuring(() => askToJoin(agent, token, body));
    expect(outcomeOf(result)).toBe(want);
    // People find it where they look for the request, and nothing else came of it.
    expect(events).toEqual(['cluster.refused']);
    expect((await world.cluster(body.clusterId)).identity).toMatchObject({
      state: 'refused',
      refusal: { code: want },
    });
    expect(await world.uses(token)).toBe(0);
    expect(await world.holderOf(body.clusterName)).toBeUndefined();
  });

  const quiet: {
    name: string;
    ask: (agent: RawAgent, token: RegistrationToken) => Promise<string>;
    want: string;
  }[] = [
    {
      name: 'another token than the one it holds, by its public key',
      async ask(agent, token) {
        const wanted = await world.declare({ uses: 'unlimited', clusterSet: 'red' });
        return outcomeOf(await askToJoin(agent, token, aJoin(wanted)));
      },
      want: 'TOKEN_UNKNOWN',
    },
    {
      name: 'no token at all',
      ask: async (agent, token) =>
        outcomeOf(await askToJoin(agent, token, aJoin(token, { tokenKey: undefined }))),
      want: 'TOKEN_UNKNOWN',
    },
    {
      name: 'the id of its token in lower case, which is the same id on the bus',
      ask: async (agent, token) =>
        outcomeOf(await askToJoin(agent, token, aJoin(token, { tokenKey: tokenIdOf(token.key.publicKey) }))),
      want: 'TOKEN_UNKNOWN',
    },
    {
      name: 'a wildcard for a token',
      ask: async (agent, token) => outcomeOf(await askToJoin(agent, token, aJoin(token, { tokenKey: '*' }))),
      want: 'TOKEN_UNKNOWN',
    },
    {
      name: 'a set that it gives itself',
      async ask(agent, token) {
        const news = agent.nextNews();
        void askToJoin(agent, token, aJoin(token, { clusterSet: 'red' }));
        return outcomeOf((await news).result);
      },
      want: 'REQUEST_INVALID',
    },
    {
      name: 'a request of which only the token is proven',
      async ask(agent, token) {
        const news = agent.nextNews();
        void agent.request('join', aJoin(token), { signers: [token.key] });
        return outcomeOf((await news).result);
      },
      want: 'PROOF_INVALID',
    },
    {
      name: 'another hub',
      ask: async (agent, token) =>
        outcomeOf(
          (
            await agent.request('join', aJoin(token), {
              hub: 'AAAAAAAAAAAAAAAA',
              signers: [agent.key, token.key],
            })
          ).result,
        ),
      want: 'HUB_WRONG',
    },
  ];
  test.each(quiet)('$name', async ({ ask, want }) => {
    const token = await world.declare();
    const agent = await world.agent(token);
    const { result, events } = await world.eventsDuring(() => ask(agent, token));
    expect(result).toBe(want);
    expect(events.filter((event) => event !== 'token.declared')).toEqual([]);
    expect(await world.uses(token)).toBe(0);
  });

  test('a token that is withdrawn while its holder is connected lets nobody ask', async () => {
    const token = await world.declare({ uses: 'unlimited' });
    const agent = await world.agent(token);
    await withdraw(token);
    const { result, events } = await world.eventsDuring(() => askToJoin(agent, token, aJoin(token)));
    expect([outcomeOf(result), events]).toEqual(['TOKEN_UNKNOWN', []]);
  });

  test('a use is bound to the key: another key gets nothing by the same token, not even for the same cluster [KA-4, X-5]', async () => {
    const token = await world.declare();
    const body = aJoin(token);
    const first = await world.agent(token);
    expect(outcomeOf(await askToJoin(first, token, body))).toBe('waiting');
    const second = await world.agent(token);
    const { result, events } = await world.eventsDuring(() => askToJoin(second, token, body));
    expect([outcomeOf(result), events]).toEqual(['TOKEN_USED_UP', []]);
    expect((await world.cluster(body.clusterId)).identity?.request.key).toBe(first.key.publicKey);
  });

  test('a lost answer costs nothing: the same key has the same answer as often as it asks, from a new connection too', async () => {
    const token = await world.declare();
    const body = aJoin(token);
    const first = await world.agent(token);
    const before = await askToJoin(first, token, body);
    const again = await world.agent(token, first.key);
    const { result, events } = await world.eventsDuring(async () => [
      await askToJoin(first, token, body),
      await askToJoin(again, token, body),
    ]);
    const comparable = (answer: unknown) => ({ ...(answer as object), credentials: undefined });
    expect(result.map(comparable)).toEqual([comparable(before), comparable(before)]);
    expect(events).toEqual([]);
    expect(await world.uses(token)).toBe(1);
  });

  test('a use is never given back: a request that is refused later, or asks for another cluster, has spent it', async () => {
    const token = await world.declare();
    const agent = await world.agent(token);
    expect(outcomeOf(await askToJoin(agent, token, aJoin(token)))).toBe('waiting');
    const { result } = await world.eventsDuring(() => askToJoin(agent, token, aJoin(token)));
    expect(outcomeOf(result)).toBe('KEY_TAKEN');
    expect(await world.uses(token)).toBe(1);
    expect(outcomeOf(await askToJoin(await world.agent(token), token, aJoin(token)))).toBe('TOKEN_USED_UP');
  });
});

describe('who came in by a token may say and hear nothing but its own request', () => {
  let agent: RawAgent;
  let token: RegistrationToken;
  beforeAll(async () => {
    token = await world.declare({ uses: 'unlimited' });
    agent = await connectWithToken(world.hub, token);
    return () => agent.nc.close();
  });
  const subjectOf = (template: string) =>
    template.replace('SELF', agent.key.publicKey).replace('OTHER', other.publicKey);

  test.each([
    ...['renew', 'facts', 'access', 'leave', '*', '>'].map((verb) => `rollcall.request.SELF.${verb}`),
    'rollcall.request.OTHER.join',
    'rollcall.request.*.join',
    'rollcall.reply.SELF.join',
    'rollcall.reply.OTHER.join',
    'rollcall.heartbeat.SELF',
    'rollcall.heartbeat.other',
    'rollcall.heartbeat-partition.0.other',
    'rollcall.events.cluster.other.approved',
    'rollcall.events.token.other.used',
    'rollcall.facts.other',
    'rollcall.live.other',
    ...['STREAM.PURGE.EVENTS', 'STREAM.INFO.EVENTS'].flatMap(jetStreamSubjects),
    '$SYS.REQ.CLAIMS.UPDATE',
    '$SYS.REQ.USER.AUTH',
    '$SRV.PING',
    '_INBOX_registrar.x',
  ])('publish %s', async (template) => {
    const subject = subjectOf(template);
    const { result, events } = await world.eventsDuring(() =>
      refusedWhile(agent.nc, () => agent.nc.publish(subject, '{}')),
    );
    expect(result.join()).toMatch(/ermissions|nvalid/);
    expect(events).toEqual([]);
  });

  test.each([
    '>',
    '*.>',
    'rollcall.>',
    'rollcall.reply.>',
    'rollcall.reply.*.>',
    'rollcall.reply.OTHER.>',
    'rollcall.request.>',
    'rollcall.request.*.join',
    'rollcall.events.>',
    'rollcall.heartbeat.>',
    'rollcall.live.*',
    '_INBOX.>',
    '$SYS.>',
    '$JS.>',
    '$SRV.>',
  ])('hear %s, alone or in a queue group', async (template) => {
    const subject = subjectOf(template);
    const refused = await refusedWhile(agent.nc, () => {
      agent.nc.subscribe(subject, { callback: () => undefined });
      agent.nc.subscribe(subject, { queue: 'registrar', callback: () => undefined });
    });
    expect(refused.join()).toMatch(/ermissions/);
    expect(refused.length).toBe(2);
  });

  test('two agents of one token never hear each other', async () => {
    const victim = await world.agent(token);
    const listener = await world.agent(token);
    const heard: string[] = [];
    const mine = `rollcall.reply.${listener.key.publicKey}.>`;
    for (const subject of [mine, `rollcall.reply.${victim.key.publicKey}.>`, 'rollcall.reply.>', '_INBOX.>'])
      listener.nc.subscribe(subject, {
        callback: (error, message) => {
          if (!error) heard.push(message.subject);
        },
      });
    await listener.nc.flush();
    const body = aJoin(token);
    for (let round = 0; round < 20; round++)
      expect(outcomeOf(await askToJoin(victim, token, body))).toBe('waiting');
    expect(outcomeOf(await askToJoin(listener, token, aJoin(token)))).toBe('waiting');
    expect(heard).toEqual([`rollcall.reply.${listener.key.publicKey}.join`]);
  });
});

test('2^17 tokens have no secret twice, each of 128 bits', () => {
  const secrets = new Set<string>();
  const letters = Array.from({ length: 26 }, () => new Set<string>());
  for (let count = 0; count < 2 ** 17; count++) {
    const secret = createTokenSecret();
    secrets.add(secret);
    for (const [at, letter] of [...secret].entries()) letters[at]?.add(letter);
  }
  expect(secrets.size).toBe(2 ** 17);
  // Five bits in a letter but in one of them, which has the other three of 128.
  const bits = letters.reduce((sum, seen) => sum + Math.log2(seen.size), 0);
  expect(bits).toBe(128);
  expect(createRegistrationToken('AAAAAAAAAAAAAAAA').text).toMatch(/^rc1\.A{16}\.[0-9a-z]{26}$/);
});
