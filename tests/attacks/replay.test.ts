import type { NatsConnection } from '@nats-io/transport-node';
import { clusterRecord, draft, left } from '@rollcall/shared/events';
import { type Reply, decodeReply } from '@rollcall/shared/protocol';
import { createNkey, hubIdOf, type Nkey, signMessage } from '@rollcall/shared/trust';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { isStale, nextJoining, startJoining } from '../../agent/session/joining.ts';
import { decideAs } from '../harness/events.ts';
import { connectWithCredentials, freshId, type RawAgent } from '../harness/raw-agent.ts';
import { aJoin, askToJoin } from '../harness/join.ts';
import {
  type AttackedRegistrar,
  outcomeOf,
  refusedWhile,
  startAttackedRegistrar,
} from './attacked-registrar.ts';

/** The attacker has what crossed the wire once, word for word. Two replicas: neither knows by itself what the other has heard. */
let world: AttackedRegistrar;
beforeAll(async () => {
  world = await startAttackedRegistrar({ replicas: 2 });
});
afterAll(() => world[Symbol.asyncDispose]());

type Body = ReturnType<typeof aJoin>;

/** A request as it stood on the wire. */
function captured(agent: RawAgent, token: { key: Nkey }, asked: { body: Body; atMs?: number }) {
  const id = freshId();
  const { body, atMs = Date.now() } = asked;
  const content = { v: 1, hub: world.hub.hub.hubId, verb: 'join', id, atMs, body };
  return { id, bytes: JSON.stringify(signMessage(content, [agent.key, token.key])) };
}

/** Sends the very bytes, and hears what is answered to that request. */
async function replay(agent: RawAgent, { id, bytes }: { id: string; bytes: string }): Promise<Reply> {
  agent.nc.publish(`rollcall.request.${agent.key.publicKey}.join`, bytes);
  for (;;) {
    const answer = await agent.nextNews();
    if (answer.inReplyTo === id) return answer;
  }
}

/** The cluster leaves: the approver takes its key back for good, and the registrar ends this registration of it. */
async function leaves(clusterId: string, key: string, options: { tombstone: boolean }): Promise<void> {
  const revokedKeys = options.tombstone ? [{ key, atMs: Date.now(), left: true }] : [];
  await decideAs(world.approverLog, clusterId, 'denied', { verdict: 'leaving', revokedKeys });
  const registrarLog = await world.hub.openLog('registrar');
  const record = clusterRecord(await registrarLog.read({ kind: 'cluster', id: clusterId }));
  if (!record.identity) throw new Error(`nobody asked as ${clusterId}`);
  const section = { ...record.identity, state: 'left' as const };
  await registrarLog.append([draft(left, record, { reason: 'Left', message: 'left', section })], {
    correlation: 'test',
  });
}

describe('a request to join', () => {
  test('sent ten times over two connections to two replicas is one request and one use', async () => {
    const token = await world.declare({ uses: 10 });
    const agent = await world.agent(token);
    const again = await world.agent(token, agent.key);
    const body = aJoin(token);
    const request = captured(agent, token, { body });
    const { events } = await world.eventsDuring(async () => {
      const subject = `rollcall.request.${agent.key.publicKey}.join`;
      for (let copy = 0; copy < 5; copy++)
        for (const { nc } of [agent, again]) nc.publish(subject, request.bytes);
      // A replica that has eight of them open says to the ninth that it is busy, perhaps before it answers the first.
      const outcomes = new Set<string>();
      for (let answered = 0; answered < 10; answered++)
        outcomes.add(outcomeOf((await agent.nextNews()).result));
      outcomes.delete('HUB_BUSY');
      expect([...outcomes]).toEqual(['waiting']);
      expect(outcomeOf(await askToJoin(again, token, body))).toBe('waiting');
    });
    expect(events.toSorted()).toEqual(['cluster.requested', 'key.taken', 'name.taken', 'token.used']);
    expect(await world.uses(token)).toBe(1);
  });

  test('of a registration that has ended begins no other one by the same key', async () => {
    const token = await world.declare({ uses: 'unlimited' });
    const agent = await world.agent(token);
    const body = aJoin(token);
    const request = captured(agent, token, { body });
    expect(outcomeOf((await replay(agent, request)).result)).toBe('waiting');
    const told = agent.nextNews();
    await leaves(body.clusterId, agent.key.publicKey, { tombstone: true });
    await told;
    const { result, events } = await world.eventsDuring(() => replay(agent, request));
    expect([outcomeOf(result.result), events]).toEqual(['CLUSTER_LEFT', []]);
    // Nor does a new one by that key, with whatever token.
    expect(outcomeOf(await askToJoin(agent, token, body))).toBe('CLUSTER_LEFT');
  });

  test('of before a cluster left is no request for its next registration, also by a key that was never in', async () => {
    const token = await world.declare({ uses: 'unlimited' });
    const [owner, waiting] = [await world.agent(token), await world.agent(token)];
    const body = aJoin(token);
    const early = captured(waiting, token, { body });
    expect(outcomeOf(await askToJoin(owner, token, body))).toBe('waiting');
    await leaves(body.clusterId, owner.key.publicKey, { tombstone: true });
    const { result, events } = await world.eventsDuring(() => replay(waiting, early));
    expect([outcomeOf(result.result), events]).toEqual(['REPLAYED', []]);
    // Asked anew, it may: the refusal was about the age and nothing else.
    expect(outcomeOf(await askToJoin(waiting, token, body))).toBe('waiting');
  });

  test('older than the newest of that key is refused where it would begin something', async () => {
    const good = await world.declare({ uses: 'unlimited' });
    const bad = await world.declare({ clusterName: 'another' });
    const agent = await world.agent(good);
    const body = aJoin(good);
    const old = captured(agent, good, { body, atMs: Date.now() - 60_000 });
    expect(outcomeOf(await askToJoin(agent, bad, { ...body, tokenKey: bad.key.publicKey }))).toBe(
      'TOKEN_NAME_MISMATCH',
    );
    const { result, events } = await world.eventsDuring(() => replay(agent, old));
    expect([outcomeOf(result.result), events]).toEqual(['REPLAYED', []]);
    expect(await world.uses(good)).toBe(0);
  });

  test.each([
    { name: 'an hour old', offMs: -3_600_000 },
    { name: 'an hour ahead', offMs: 3_600_000 },
    { name: 'ten years ahead', offMs: 315_576_000_000 },
    { name: 'from before time began', offMs: -Date.now() - 1 },
    { name: 'a second more than five minutes old', offMs: -301_000 },
    { name: 'a minute more than five minutes ahead', offMs: 360_000 },
  ])('signed $name is refused, and the refusal says the time of the hub', async ({ offMs }) => {
    const token = await world.declare();
    const agent = await world.agent(token);
    const body = aJoin(token);
    const request = captured(agent, token, { body, atMs: Date.now() + offMs });
    const { result, events } = await world.eventsDuring(() => replay(agent, request));
    expect([outcomeOf(result.result), events]).toEqual(['CLOCK_SKEW', []]);
    // By that time the same agent asks rightly: nobody is kept out for a clock.
    const corrected = captured(agent, token, { body, atMs: result.atMs });
    expect(outcomeOf((await replay(agent, corrected)).result)).toBe('waiting');
  });
});

interface Member {
  readonly clusterId: string;
  readonly agent: RawAgent;
}

async function aMember(): Promise<Member> {
  const token = await world.declare();
  const asking = await world.agent(token);
  const body = aJoin(token);
  await askToJoin(asking, token, body);
  const news = asking.nextNews();
  await decideAs(world.approverLog, body.clusterId, 'approved');
  const { result } = await news;
  if (result.kind !== 'admitted') throw new Error(result.kind);
  const credentials = { jwt: result.credentials, seed: asking.key.seed };
  const agent = await connectWithCredentials(world.hub, asking.key, credentials);
  onTestFinished(() => agent.nc.close());
  return { clusterId: body.clusterId, agent };
}

test('a renewal that was captured is worth nothing to another member, and nothing once the key was taken back', async () => {
  const [victim, thief] = [await aMember(), await aMember()];
  const content = {
    v: 1,
    hub: world.hub.hub.hubId,
    verb: 'renew',
    id: freshId(),
    atMs: Date.now(),
    body: { clusterId: victim.clusterId },
  };
  const renewal = JSON.stringify(signMessage(content, [victim.agent.key]));
  const send = (agent: RawAgent) =>
    agent.nc.publish(`rollcall.request.${agent.key.publicKey}.renew`, renewal);

  const refusal = thief.agent.nextNews();
  send(thief.agent);
  expect(outcomeOf((await refusal).result)).toBe('PROOF_INVALID');
  const onTheirs = () =>
    thief.agent.nc.publish(`rollcall.request.${victim.agent.key.publicKey}.renew`, renewal);
  expect((await refusedWhile(thief.agent.nc, onTheirs)).join()).toMatch(/ermissions/);

  const { publicKey: key } = victim.agent.key;
  await decideAs(world.approverLog, victim.clusterId, 'denied', { revokedKeys: [{ key, atMs: Date.now() }] });
  for (;;) {
    send(victim.agent);
    const { result, inReplyTo } = await victim.agent.nextNews();
    if (inReplyTo !== content.id) continue;
    expect(outcomeOf(result)).toBe('CLUSTER_DENIED');
    expect(result).not.toHaveProperty('credentials');
    break;
  }
});

describe('an answer of the hub', () => {
  async function aReply(): Promise<{ bytes: Uint8Array; nc: NatsConnection; key: Nkey }> {
    const token = await world.declare();
    const agent = await world.agent(token);
    const heard = new Promise<Uint8Array>((resolve) => {
      agent.nc.subscribe(`rollcall.reply.${agent.key.publicKey}.>`, {
        callback: (_error, message) => resolve(message.data),
      });
    });
    await askToJoin(agent, token, aJoin(token));
    return { bytes: await heard, nc: agent.nc, key: agent.key };
  }
  const ofThisHub = (replyKey: string) => hubIdOf(replyKey) === world.hub.hub.hubId;

  test('is believed by the agent it is for, and by no other one', async () => {
    const { bytes, key } = await aReply();
    const trusted = { replyKeyIsTrusted: ofThisHub };
    expect(decodeReply(bytes, { agentKey: key.publicKey, ...trusted })).toBeDefined();
    const other = createNkey('user').publicKey;
    expect(decodeReply(bytes, { agentKey: other, ...trusted })).toBeUndefined();
  });

  test('is not believed by an agent of another hub', async () => {
    const { bytes, key } = await aReply();
    const ofAnother = (replyKey: string) => hubIdOf(replyKey) === 'AAAAAAAAAAAAAAAA';
    expect(decodeReply(bytes, { agentKey: key.publicKey, replyKeyIsTrusted: ofAnother })).toBeUndefined();
  });

  test('is not believed with one letter changed, wherever', async () => {
    const { bytes, key } = await aReply();
    const trusted = { agentKey: key.publicKey, replyKeyIsTrusted: ofThisHub };
    const text = new TextDecoder().decode(bytes);
    const believed: number[] = [];
    for (let at = 0; at < text.length; at += 7) {
      const letter = text[at] === 'A' ? 'B' : 'A';
      const changed = text.slice(0, at) + letter + text.slice(at + 1);
      const decoded = decodeReply(new TextEncoder().encode(changed), trusted);
      if (decoded && JSON.stringify(decoded.reply) !== JSON.stringify(decodeReply(bytes, trusted)?.reply))
        believed.push(at);
    }
    expect(believed).toEqual([]);
  });

  test('cannot be sent again by an agent, to whomever', async () => {
    const { bytes, nc, key } = await aReply();
    for (const to of [key.publicKey, createNkey('user').publicKey]) {
      const refused = await refusedWhile(nc, () => nc.publish(`rollcall.reply.${to}.join`, bytes));
      expect(refused.join()).toMatch(/ermissions/);
    }
  });

  test('of before what the agent has heard is ignored by it', () => {
    const refused = {
      kind: 'refused',
      code: 'CLUSTER_DENIED',
      message: 'm',
      hint: 'h',
      retryAfterMs: 1,
    } as const;
    const context = { nowMs: 0, random: 0.5, refusedRetryMs: 1000 };
    const heard = nextJoining(
      startJoining({ nowMs: 0 }),
      { kind: 'answered', atHubMs: 2000, result: refused },
      context,
    );
    expect(isStale(heard, { atHubMs: 1999, result: refused })).toBe(true);
    expect(isStale(heard, { atHubMs: 2001, result: refused })).toBe(false);
  });
});
