import { agentRoles, type AgentRole, otherRoles, type Role, serviceRoles } from '@rollcall/shared/rights';
import { createNkey } from '@rollcall/shared/trust';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectRaw, type RawBus } from '../harness/raw-bus.ts';
import { type BusUserName, startTestHub, type TestHub } from '../harness/test-hub.ts';
import { compareWithTable, type Outcome } from './ask-server.ts';
import { allRoles, type WhoAsks } from './probes.ts';

/**
 * Role × subject × verb, against the real server: what the table says works, everything else is refused. The subjects come
 * from the table as well (probes.ts), so a right that one role is given is tried for all others without a change here.
 */
let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(() => hub[Symbol.asyncDispose]());

const somebodyElse = { otherKey: createNkey('user').publicKey, otherName: 'cluster-2' };
const nobody: WhoAsks = { key: createNkey('user').publicKey, name: 'cluster-1', ...somebodyElse };

const report: { role: string; checks: number; allowed: number }[] = [];
async function outcomeFor(name: string, bus: RawBus, role: Role, who: WhoAsks): Promise<Outcome> {
  const outcome = await compareWithTable(bus, role, who);
  report.push({ role: name, checks: outcome.checks, allowed: outcome.allowed });
  return outcome;
}

/** An agent with credentials by the scoped key of that role, as the registrar or the callout names it. */
async function asAgent(role: AgentRole): Promise<{ bus: RawBus; who: WhoAsks }> {
  const { publicKey, seed } = createNkey('user');
  const isNamedByKey = role === 'token' || role === 'returning';
  const name = isNamedByKey ? publicKey : 'cluster-1';
  const bus = await connectRaw(hub, hub.agentCredentials(role, name, { seed }));
  return { bus, who: { key: publicKey, name, ...somebodyElse } };
}

const usersInJwt: Readonly<Record<BusUserName, Role>> = { ...serviceRoles, ...otherRoles };
const namesInJwt = Object.keys(usersInJwt) as BusUserName[];

describe('what the table says works, and nothing else', () => {
  test.each(Object.keys(agentRoles) as AgentRole[])('an agent as %s', async (name) => {
    const { bus, who } = await asAgent(name);
    await using _ = bus;
    const { differences, allowed } = await outcomeFor(name, bus, agentRoles[name], who);
    expect(differences).toEqual([]);
    expect(allowed).toBeGreaterThan(0);
  });

  test.each(namesInJwt)('%s', async (name) => {
    await using bus = await connectRaw(hub, hub.credentialsOf(name));
    const { differences, allowed } = await outcomeFor(name, bus, usersInJwt[name], nobody);
    expect(differences).toEqual([]);
    expect(allowed).toBeGreaterThan(0);
  });

  test('every role of the table was asked about', () => {
    console.table(report);
    const checks = report.reduce((sum, one) => sum + one.checks, 0);
    console.info(`${checks} checks of ${report.length} roles against the server`);
    expect(report.map(({ role }) => role).toSorted()).toEqual(Object.keys(allRoles).toSorted());
    expect(checks).toBeGreaterThan(10_000);
  });
});

/** The matrix itself must be able to fail: a server that knows one right more, or one less, than the table. */
describe('a right that the table does not say is found, and named', () => {
  test.each([
    { name: 'projector', extra: 'rollcall.events.cluster.*.approved' },
    { name: 'heartbeat', extra: '$JS.API.STREAM.PURGE.EVENTS' },
    { name: 'approver', extra: '$JS.hub.API.STREAM.PURGE.EVENTS' },
    { name: 'account-controller', extra: 'rollcall.reply.*.>' },
    { name: 'ops', extra: 'rollcall.facts.*' },
  ] as const)('$name may publish $extra', async ({ name, extra }) => {
    const role: Role = usersInJwt[name];
    const weak = hub.userWith({ ...role, publish: [...role.publish, extra] }, name);
    await using bus = await connectRaw(hub, weak);
    const { differences } = await compareWithTable(bus, role, nobody);
    expect(differences).toContainEqual({
      verb: 'publish',
      subject: extra.replace('.>', '.x').replace('*', 'cluster-2'),
      server: 'allows',
    });
    expect(differences.every(({ verb, server }) => verb === 'publish' && server === 'allows')).toBe(true);
  });

  test.each([
    { name: 'projector', extra: '_INBOX_registrar.>' },
    { name: 'heartbeat', extra: 'rollcall.request.*.*' },
    { name: 'setup', extra: '>' },
  ] as const)('$name may subscribe $extra', async ({ name, extra }) => {
    const role: Role = usersInJwt[name];
    const weak = hub.userWith({ ...role, subscribe: [...role.subscribe, extra] }, name);
    await using bus = await connectRaw(hub, weak);
    const { differences } = await compareWithTable(bus, role, nobody);
    expect(differences).toContainEqual({ verb: 'subscribe', subject: extra, server: 'allows' });
    const inQueue = { verb: 'subscribe in a queue group', subject: extra, server: 'allows' };
    expect(differences).toContainEqual(inQueue);
  });

  test('an agent may send heartbeats for itself, and the table had forgotten to say so', async () => {
    const { bus, who } = await asAgent('member');
    await using _ = bus;
    const { publish } = agentRoles.member;
    const forgetful = {
      ...agentRoles.member,
      publish: publish.filter((one) => one !== 'rollcall.heartbeat.{{name()}}'),
    };
    const { differences } = await compareWithTable(bus, forgetful, who);
    expect(differences).toEqual([
      { verb: 'publish', subject: 'rollcall.heartbeat.cluster-1', server: 'allows' },
    ]);
  });

  test('a service that lost a right is found as well', async () => {
    const role: Role = serviceRoles.approver;
    const lost = role.publish.find((one) => one.endsWith('.banned')) ?? '';
    const weak = hub.userWith({ ...role, publish: role.publish.filter((one) => one !== lost) }, 'approver');
    await using bus = await connectRaw(hub, weak);
    const { differences } = await compareWithTable(bus, role, nobody);
    expect(differences).toContainEqual({ verb: 'publish', subject: lost, server: 'refuses' });
  });
});
