import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { jetstreamManager } from '@nats-io/jetstream';
import { headers, type NatsConnection, TimeoutError } from '@nats-io/transport-node';
import { connectBus, setUpStreams } from '@rollcall/shared/bus';
import {
  accountKey,
  accountLinks,
  type AccountName,
  agentRoles,
  type AgentRole,
  consumedEvents,
  consumersOf,
  type ConsumingService,
  everyAccount,
  otherRoles,
  type Role,
  roleAccounts,
  serviceRoles,
  type ServiceName,
  simulatedAgents,
  simulatedAgentsRole,
  simulatorRole,
} from '@rollcall/shared/rights';
import { createNkey } from '@rollcall/shared/trust';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectRaw, type RawBus, type RawMessage } from '../harness/raw-bus.ts';
import { type BusUserName, startTestHub, type TestHub } from '../harness/test-hub.ts';
import { pushClaims } from '../../services/heartbeat/tests/test-member.ts';
import { allRoles, filledIn, nobodys } from './probes.ts';
import { isAllowed, liesWithin } from './subject-match.ts';

/**
 * Role × what it may publish × every subject of the system as the reply, against three real servers, which check a subject and
 * never a reply (ADR 1). Nothing may come of it but an answer in the asker's own account. Everything is made from the table: a
 * new right is tried with every reply, and a new subject is tried as the reply of every right, without a change here.
 */
let hub: TestHub;
let operator: NatsConnection;
let claims: NatsConnection;

const victim = { key: createNkey('user').publicKey, name: 'cluster-2' };
const accounts = ['AGENTS', 'HUB', ...roleAccounts] as const;

/** Asked to see whether the server is done. */
const question = '$JS.API.STREAM.INFO.FACTS';
/** Between two such questions. */
const quietMs = 20;

/** What was heard in each account, on any of the servers. */
const heard = new Map<AccountName, Set<string>>();
const listeners: NatsConnection[] = [];

/** Stands for the service of that account: answers all that others may ask it, whatever the reply is. */
async function answerAsService(name: ServiceName): Promise<void> {
  const nc = await hub.connectAs(name);
  const asked = accountLinks({ agents: 'x', sys: 'x' }).filter(
    ({ from, kind }) => from === serviceRoles[name].account && kind === 'service',
  );
  for (const subject of new Set(asked.map((link) => link.subject)))
    nc.subscribe(subject, {
      callback: (error, message) => {
        if (!error && message.reply) message.respond('{}');
      },
    });
  await nc.flush();
}

beforeAll(async () => {
  hub = await startTestHub({ servers: 3 });
  operator = await hub.connectAsOperator();
  await seed();
  claims = await hub.connectWith(hub.credentialsOf('claims'), 'claims');
  for (const name of Object.keys(serviceRoles) as ServiceName[]) await answerAsService(name);
  for (const account of accounts) {
    const role: Role = { account, description: 'hears everything', publish: [], subscribe: ['>'] };
    const subjects = new Set<string>();
    heard.set(account, subjects);
    // What comes over a route goes another way through the server than what stays in it.
    for (const server of hub.address.servers) {
      const address = { ...hub.address, servers: [server] };
      const nc = await connectBus(address, hub.userWith(role, 'listener'), 'listener');
      listeners.push(nc);
      nc.subscribe('>', {
        callback: (error, { subject, reply }) => {
          // What a consumer gives is on its way to whoever fetches it, and shows the subject that it is stored under.
          const isFetched = reply?.startsWith('$JS.ACK.') === true;
          if (!error && !isFetched) subjects.add(subject);
        },
      });
      await nc.flush();
    }
  }
});
afterAll(async () => {
  await Promise.allSettled(listeners.map((nc) => nc.close()));
  await hub?.[Symbol.asyncDispose]();
});

/** Something to be read in every stream, batches among it, and something for every consumer. */
async function seed(): Promise<void> {
  await setUpStreams(await hub.connectAs('setup'), { replicas: 3 });
  const subjects = ['requested', 'approved', 'revoked', 'provisioned'].map(
    (type) => `rollcall.events.cluster.cluster-1.${type}`,
  );
  for (const subject of [...subjects, 'rollcall.facts.cluster-1', 'rollcall.dead.registrar.1'])
    await operator.request(subject, '{}', { timeout: 5000 });
  await appendBatch('seed');
}

/** @returns what the server says to a batch of two events */
async function appendBatch(id: string): Promise<string> {
  const of = (sequence: number, more: Readonly<Record<string, string>> = {}) => {
    const all = headers();
    const batch = { 'Nats-Batch-Id': id, 'Nats-Batch-Sequence': String(sequence), ...more };
    for (const [name, value] of Object.entries(batch)) all.set(name, value);
    return { headers: all };
  };
  operator.publish('rollcall.events.token.batch.declared', '{}', of(1));
  const commit = of(2, { 'Nats-Batch-Commit': '1' });
  const subject = 'rollcall.events.token.batch.used';
  return (await operator.request(subject, '{}', { ...commit, timeout: 5000 })).string();
}

/** All that an answer could do: streams with what is in them, consumers with where they are, claims of accounts. */
async function everything(own: string): Promise<Record<string, unknown>> {
  const jsm = await jetstreamManager(operator);
  const found: Record<string, unknown> = {};
  for await (const { config, state } of jsm.streams.list()) {
    const { name: stream } = config;
    found[`stream ${stream}`] = { config, messages: state.messages, last: state.last_seq };
    for await (const { name, config: how, delivered, ack_floor: floor } of jsm.consumers.list(stream))
      // What a service fetches for itself moves its own place.
      found[`consumer ${name}`] = { how, ...(name === own ? {} : { delivered, floor }) };
  }
  for (const account of accounts) {
    const subject = `$SYS.REQ.ACCOUNT.${accountKey(hub.hub.keys, account)}.CLAIMS.LOOKUP`;
    found[`account ${account}`] = (await claims.request(subject, '', { timeout: 5000 })).string();
  }
  return found;
}

/** What is said, where answering it needs a question; an append is one that the stream refuses, and says so. */
function bodyOf(subject: string): Pick<RawMessage, 'body' | 'headers'> {
  if (subject.includes('.DIRECT.GET.')) return { body: '{"seq":1,"batch":1}' };
  if (subject.includes('.MSG.NEXT.')) return { body: '{"batch":1,"no_wait":true}' };
  const isAppend = /^rollcall\.(events|facts|dead|held)\./.test(subject);
  return isAppend ? { body: '{}', headers: { 'Nats-Expected-Last-Sequence': '999999999' } } : {};
}

const literal = (pattern: string, word: string): string =>
  pattern.replaceAll('*', word).replace(/>$/, `${word}.1.1.1.1`);

/** Every subject that means something to anybody, as a victim has it. */
function replies(): string[] {
  const patterns = Object.values(allRoles).flatMap(({ publish, subscribe }) => [...publish, ...subscribe]);
  const ofVictim = filledIn(patterns, victim);
  const inHub = ofVictim.map((subject) => subject.replace('$JS.hub.', '$JS.'));
  const all = [...ofVictim, ...inHub, ...nobodys].flatMap((pattern) => [
    pattern,
    literal(pattern, 'cluster-2'),
  ]);
  return [...new Set(all)];
}

interface Asker {
  readonly bus: RawBus;
  readonly role: Role;
  readonly name: string;
  /** Its subjects, with the templates filled in. */
  readonly publish: readonly string[];
}

/** What the role may say into an account: what it publishes there itself, and what the table has go there. */
function mayReach(account: AccountName, { role, publish }: Asker): readonly string[] {
  if (account === role.account) return publish;
  const links = accountLinks(hub.hub.keys);
  return links
    .filter(({ from, to, kind }) =>
      kind === 'service' ? from === account && to === role.account : from === role.account && to === account,
    )
    .flatMap(({ subject, remoteSubject }) => {
      if (remoteSubject !== undefined) return publish.includes(subject) ? [remoteSubject] : [];
      // A user may have less than its account.
      return publish.filter((one) => liesWithin(one, subject));
    });
}

/** Answers of JetStream on their way into the asker's account, what it says of itself, and our own questions. */
const isOthers = (subject: string): boolean =>
  !/^(_R_|\$JS\.EVENT|\$JS\.ACK|_INBOX_operator|_INBOX_claims)\./.test(subject) && subject !== question;

/** @returns what was heard where nothing should be, in words; empty is what we want */
async function reached(asker: Asker): Promise<string[]> {
  const { bus, role, publish } = asker;
  await settled();
  for (const subjects of heard.values()) subjects.clear();
  for (const pattern of publish) {
    const subject = literal(pattern, 'cluster-1');
    await bus.send(replies().map((reply) => ({ subject, reply, ...bodyOf(subject) })));
  }
  await settled();
  return [...heard].flatMap(([account, subjects]) => {
    // In an account of one role there is nobody else. Agents share one.
    if (account === role.account && account !== 'AGENTS') return [];
    const allowed = mayReach(account, asker);
    return [...subjects]
      .filter((subject) => isOthers(subject) && !isAllowed(subject, allowed))
      .map((subject) => `${account} heard ${subject}`);
  });
}

/** Some consequences make a leader step down, and what is asked of it then stays unanswered: it is asked again. */
async function answered<T>(ask: () => Promise<T>, triesLeft = 5): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (triesLeft === 0 || !(error instanceof TimeoutError)) throw error;
    return await answered(ask, triesLeft - 1);
  }
}

/** All that was set off has come to rest: nothing new is heard while the server answers some questions. */
async function settled(): Promise<void> {
  const total = () =>
    [...heard.values()].reduce((sum, subjects) => sum + [...subjects].filter(isOthers).length, 0);
  for (let quiet = 0; quiet < 5;) {
    const before = total();
    await answered(() => operator.request(question, '', { timeout: 5000 }));
    await delay(quietMs);
    quiet = total() === before ? quiet + 1 : 0;
  }
}

/** @returns what came of it beside answers; empty is what we want */
async function consequencesOf(asker: Asker): Promise<string[]> {
  const before = await everything(asker.name);
  const found = await reached(asker);
  const after = await answered(() => everything(asker.name));
  const changed = Object.keys(before).filter((what) => !isDeepStrictEqual(before[what], after[what]));
  return [...found, ...changed.map((what) => `changed: ${what}`)];
}

const inJwt: Readonly<Record<string, Role>> = { ...serviceRoles, ...otherRoles };

describe('whatever reply it names, nothing comes of what it may publish but an answer to itself', () => {
  test.each(Object.keys(agentRoles) as AgentRole[])(
    'an agent as %s stores nothing and reaches nobody [X-14]',
    async (name) => {
      const { publicKey, seed: seedOfKey } = createNkey('user');
      const isNamedByKey = name === 'token' || name === 'returning';
      const who = { key: publicKey, name: isNamedByKey ? publicKey : 'cluster-1' };
      const credentials = hub.agentCredentials(name, who.name, { seed: seedOfKey });
      await using bus = await connectRaw(hub, credentials, { no_responders: true });
      const role: Role = agentRoles[name];
      const asker = { bus, role, name, publish: filledIn(role.publish, who) };
      expect(await consequencesOf(asker)).toEqual([]);
    },
  );

  // Set-up is the one user where the streams are: it makes them, and may. Restoring takes consumers away, as it may.
  test.each(Object.keys(inJwt).filter((name) => name !== 'setup' && name !== 'restore'))(
    '%s stores nothing and reaches nobody [X-14]',
    async (name) => {
      await using bus = await connectRaw(hub, hub.credentialsOf(name as BusUserName), {
        no_responders: true,
      });
      const role = inJwt[name] as Role;
      expect(await consequencesOf({ bus, role, name, publish: role.publish })).toEqual([]);
    },
  );

  test.each([
    { name: 'simulator', role: simulatorRole(['cluster-1']) },
    { name: simulatedAgents, role: simulatedAgentsRole(['cluster-1']) },
  ])('$name, who has less than its account', async ({ name, role }) => {
    await using bus = await connectRaw(hub, hub.userWith(role, name), { no_responders: true });
    expect(await consequencesOf({ bus, role, name, publish: role.publish })).toEqual([]);
  });

  test('restore', async () => {
    const role: Role = otherRoles.restore;
    await using bus = await connectRaw(hub, hub.credentialsOf('restore'), { no_responders: true });
    const came = await consequencesOf({ bus, role, name: 'restore', publish: role.publish });
    const services = Object.keys(consumedEvents) as ConsumingService[];
    const consumers = services.flatMap(consumersOf).map(({ name }) => `changed: consumer ${name}`);
    expect(came.toSorted()).toEqual(consumers.toSorted());
    await setUpStreams(await hub.connectAs('setup'), { replicas: 3 });
  });

  test('and batches go on', async () => {
    expect(await appendBatch('after')).toContain('"count":2');
  });
});

/** The matrix itself must be able to fail: the ways that there were, and a wrong one between accounts. */
describe('an arrangement that lets a reply through is found, and named', () => {
  test('a user in the account of the streams', async () => {
    const publish = ['$JS.API.DIRECT.GET.EVENTS'];
    const role: Role = { account: 'HUB', description: 'as ops was', publish, subscribe: ['_INBOX_ops.>'] };
    await using bus = await connectRaw(hub, hub.userWith(role, 'ops'));
    const message = { subject: publish[0] ?? '', ...bodyOf('.DIRECT.GET.') };
    const before = await everything('');
    await bus.send([
      { ...message, reply: 'rollcall.events.cluster.cluster-2.revoked' },
      { ...message, reply: '$JS.API.STREAM.DELETE.DEAD' },
    ]);
    await settled();
    const after = await everything('');
    expect(after['stream EVENTS']).not.toEqual(before['stream EVENTS']);
    expect(after['stream DEAD']).toBeUndefined();
    await setUpStreams(await hub.connectAs('setup'), { replicas: 3 });
  });

  test('a question that crosses as a stream, with the reply that the asker chose', async () => {
    const [asks, answers] = ['OPS', 'HUB'] as const;
    const subject = '$JS.API.DIRECT.GET.EVENTS';
    const of = (account: AccountName) =>
      everyAccount(hub.hub.keys).find(({ name }) => name === account)?.claims;
    const more = { name: subject, subject, type: 'stream' };
    const [ofOps, ofHub] = [of(asks) as Shares, of(answers) as Shares];
    const from = { ...more, account: accountKey(hub.hub.keys, asks) };
    await pushClaims(hub, { account: asks, nats: { ...ofOps, exports: [more] } });
    await pushClaims(hub, { account: answers, nats: { ...ofHub, imports: [from] } });
    const role: Role = { ...otherRoles.ops, publish: [subject] };
    await using bus = await connectRaw(hub, hub.userWith(role, 'ops'));
    const came = await consequencesOf({ bus, role, name: 'ops', publish: role.publish });
    expect(came).toContain('changed: stream EVENTS');
    expect(came.length).toBeGreaterThan(10);
  });
});

interface Shares extends Record<string, unknown> {
  readonly imports?: readonly object[];
}
