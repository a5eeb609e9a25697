import { headers, type NatsConnection } from '@nats-io/transport-node';
import { eventCatalogue } from '@rollcall/shared/events';
import { type AgentRole, type ServiceName, serviceRoles } from '@rollcall/shared/rights';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectWithCredentials, type RawAgent } from '../harness/raw-agent.ts';
import { startTestHub, type TestHub } from '../harness/test-hub.ts';
import { createNkey, nkeyFromSeed } from '@rollcall/shared/trust';

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
});

/** What the server refuses while the work runs; a round trip afterwards makes sure that it has spoken. */
async function refusedWhile(nc: NatsConnection, work: () => void): Promise<string[]> {
  const refused: string[] = [];
  const status = nc.status();
  void (async () => {
    for await (const event of status) if (event.type === 'error') refused.push(event.error.message);
  })();
  work();
  await nc.flush();
  await nc.flush();
  return refused;
}

function impossible() {
  const all = headers();
  all.set('Nats-Expected-Last-Sequence', '999999');
  return all;
}

async function mayPublish(nc: NatsConnection, subject: string): Promise<boolean> {
  return (await refusedWhile(nc, () => nc.publish(subject, 'x'))).length === 0;
}

async function maySubscribe(nc: NatsConnection, subject: string): Promise<boolean> {
  const refused = await refusedWhile(nc, () => {
    const subscription = nc.subscribe(subject, { callback: () => undefined });
    subscription.unsubscribe(1);
  });
  return refused.length === 0;
}

const other = createNkey('user').publicKey;
const nobodysInAgents = {
  publish: [
    '>',
    `rollcall.ask.${other}.join`,
    `rollcall.answer.${other}.join`,
    'rollcall.ask.*.join',
    'rollcall.beat.other',
    'rollcall.beat.*',
    'rollcall.beatp.0.other',
    'rollcall.events.cluster.mine.approved',
    'rollcall.facts.mine',
    'rollcall.live.mine',
    'rollcall.dead.registrar',
    '$JS.API.INFO',
    '$JS.API.STREAM.MSG.GET.EVENTS',
    '$JS.API.DIRECT.GET.EVENTS.rollcall.events.cluster.mine.approved',
    '$JS.ACK.EVENTS.approver.1.1.1.1.1',
    '$SYS.REQ.CLAIMS.UPDATE',
    '$SYS.REQ.SERVER.PING',
    '$SYS.REQ.USER.AUTH',
    '$SRV.PING',
    '_INBOX.other.1',
    '_INBOX_registrar.1',
  ],
  subscribe: [
    '>',
    '*',
    'rollcall.>',
    'rollcall.ask.*.*',
    'rollcall.answer.>',
    'rollcall.answer.*.>',
    `rollcall.answer.${other}.>`,
    'rollcall.beat.*',
    'rollcall.beat.other',
    'rollcall.events.>',
    '$JS.API.>',
    '$SYS.>',
    '$SYS.ACCOUNT.>',
    '$SRV.>',
    '_INBOX.>',
    '_INBOX_agent.>',
  ],
};

/** What the table is meant to say, written out a second time: a role that gets more must get it here too. */
const agentsMay: Record<AgentRole, readonly string[]> = {
  token: ['join'],
  returning: ['join', 'renew'],
  waiting: ['join', 'leave'],
  member: ['join', 'renew', 'facts', 'access', 'leave'],
};
const verbs = ['join', 'renew', 'facts', 'access', 'leave', 'format'];

describe.each(Object.keys(agentsMay) as AgentRole[])('an agent as %s', (role) => {
  let agent: RawAgent;
  beforeAll(async () => {
    // The callout names its users after the agent's key, the registrar's credentials after the cluster.
    const isNamedByKey = role === 'token' || role === 'returning';
    const { publicKey, seed } = createNkey('user');
    const credentials = hub.agentCredentials(role, isNamedByKey ? publicKey : 'mine', { seed });
    agent = await connectWithCredentials(hub, nkeyFromSeed(seed), credentials);
  });
  afterAll(async () => {
    await agent[Symbol.asyncDispose]();
  });

  test.each(verbs)('asks to %s only where its role says so', async (verb) => {
    const may = await mayPublish(agent.nc, `rollcall.ask.${agent.key.publicKey}.${verb}`);
    expect(may).toBe(agentsMay[role].includes(verb));
  });

  test('hears its own answers and beats only as a member, for its own cluster', async () => {
    expect(await maySubscribe(agent.nc, `rollcall.answer.${agent.key.publicKey}.>`)).toBe(true);
    for (const subject of ['rollcall.beat.mine', 'rollcall.beatp.3.mine']) {
      expect(await mayPublish(agent.nc, subject)).toBe(role === 'member');
    }
  });

  test.each(nobodysInAgents.publish)('may not publish %s', async (subject) => {
    expect(await mayPublish(agent.nc, subject)).toBe(false);
  });

  test.each(nobodysInAgents.subscribe)('may not subscribe %s', async (subject) => {
    expect(await maySubscribe(agent.nc, subject)).toBe(false);
  });
});

const services = Object.keys(serviceRoles) as ServiceName[];

describe.each([...services, 'ops', 'setup'] as const)('%s', (name) => {
  let nc: NatsConnection;
  beforeAll(async () => {
    nc = await hub.connectAs(name);
  });

  test('writes its own events and nobody else’s', async () => {
    const wrong: string[] = [];
    for (const { kind, type, writer } of eventCatalogue) {
      const subject = `rollcall.events.${kind}.rights-test.${type}`;
      // A wrong sequence: the server's rights are asked, and nothing is kept.
      const refused = await refusedWhile(nc, () => nc.publish(subject, 'x', { headers: impossible() }));
      if ((refused.length === 0) !== (writer === name)) wrong.push(subject);
    }
    expect(wrong).toEqual([]);
  });

  test.each(['>', '$SYS.>', '_INBOX.>', '$JS.API.>'])('may not subscribe %s', async (subject) => {
    expect(await maySubscribe(nc, subject)).toBe(false);
  });

  test('hears what agents ask only as the registrar, and its own inbox only', async () => {
    expect(await maySubscribe(nc, 'rollcall.ask.*.*')).toBe(name === 'registrar');
    for (const inbox of [...services, 'ops', 'setup']) {
      expect(await maySubscribe(nc, `_INBOX_${inbox}.>`)).toBe(inbox === name);
    }
  });

  test('changes streams and consumers only as set-up', async () => {
    for (const subject of [
      '$JS.API.STREAM.PURGE.EVENTS',
      '$JS.API.STREAM.MSG.DELETE.EVENTS',
      '$JS.API.CONSUMER.CREATE.EVENTS',
      '$JS.API.CONSUMER.DELETE.EVENTS.nobody',
    ]) {
      expect(await mayPublish(nc, subject)).toBe(name === 'setup');
    }
  });

  test('acknowledges and fetches with no consumer but its own', async () => {
    for (const service of services) {
      const isOwn = service === name && service !== 'heartbeat';
      expect(await mayPublish(nc, `$JS.ACK.EVENTS.${service}.1.1.1.1.1`)).toBe(isOwn);
      expect(await mayPublish(nc, `rollcall.dead.${service}`)).toBe(isOwn);
    }
  });

  test('answers agents only as the registrar, beats for nobody', async () => {
    expect(await mayPublish(nc, `rollcall.answer.${other}.join`)).toBe(name === 'registrar');
    expect(await mayPublish(nc, 'rollcall.facts.rights-test')).toBe(name === 'registrar');
    expect(await mayPublish(nc, 'rollcall.beat.mine')).toBe(false);
    expect(await mayPublish(nc, '$SYS.REQ.CLAIMS.UPDATE')).toBe(false);
  });
});
