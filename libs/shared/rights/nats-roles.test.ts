import { eventCatalogue } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { agentRoles, type AgentRole, otherRoles, serviceRoles, type ServiceName } from './nats-roles.ts';
import type { Role } from './role.ts';

const roles = Object.entries({ ...agentRoles, ...serviceRoles, ...otherRoles } as Record<string, Role>);
const services = Object.entries(serviceRoles) as [ServiceName, Role][];

/** What agents are meant to ask, written out a second time: a role that gets more must get it here too. */
const agentsMayAsk: Record<AgentRole, readonly string[]> = {
  token: ['join'],
  returning: ['join', 'renew', 'leave'],
  waiting: ['join', 'leave'],
  member: ['join', 'renew', 'facts', 'access', 'leave', 'rotate'],
};

test.each(Object.entries(agentsMayAsk) as [AgentRole, string[]][])('%s asks to %j', (name, verbs) => {
  const { publish } = agentRoles[name];
  const asked = publish.filter((subject) => subject.startsWith('rollcall.request.'));
  expect(asked.map((subject) => subject.split('.').at(-1))).toEqual(verbs);
});

test.each(Object.entries(agentRoles))('%s says and hears nothing but in its own name', (_, role) => {
  const { publish, subscribe }: Role = role;
  const own =
    /^rollcall\.(request|reply|heartbeat|heartbeat-partition\.\*|tunnel\.[a-z]+)\.\{\{(name|subject)\(\)\}\}(\.[a-z>]+|\.\*\.\*)?$/;
  expect([...publish, ...subscribe].filter((subject) => !own.test(subject))).toEqual([]);
});

/** Who restores puts back what others wrote, into a hub that does not run. */
const writers = roles.filter(([name]) => name !== 'restore');

test.each(writers)('%s writes the events that are its own, each by name', (name, { publish }) => {
  const own = eventCatalogue.filter(({ writer }) => writer === name);
  const written = publish.filter((subject) => subject.startsWith('rollcall.events.'));
  expect(written).toEqual(own.map(({ kind, type }) => `rollcall.events.${kind}.*.${type}`));
});

test.each(roles)('%s may not answer what it overhears', (_, { subscribe, mayRespond }) => {
  const hearsAppends = subscribe.some((subject) => /^rollcall\.(events|facts|dead|held)/.test(subject));
  expect(mayRespond === true && hearsAppends).toBe(false);
});

test.each(services)('%s answers in no inbox but that of people and its own', (name, { publish }) => {
  const inboxes = publish.filter((subject) => subject.startsWith('_INBOX'));
  expect(inboxes.filter((one) => ![`_INBOX_${name}.>`, '_INBOX_ops.>'].includes(one))).toEqual([]);
});

test.each(services)('%s changes no stream and makes no consumer', (_, { publish }) => {
  const read = /^\$JS\.(hub\.)?API\.(STREAM\.INFO|DIRECT\.GET|CONSUMER\.INFO|CONSUMER\.MSG\.NEXT)\./;
  const asked = publish.filter((subject) => /^\$JS\.(hub\.)?API\./.test(subject));
  expect(asked).not.toEqual([]);
  expect(asked.filter((subject) => !read.test(subject))).toEqual([]);
});

test('nobody may everything', () => {
  const lists = roles.flatMap(([, { publish, subscribe }]) => [...publish, ...subscribe]);
  const everything = /^[>*]|^rollcall\.[>*]|^\$JS\.(hub\.)?(API\.)?[>*]|^\$SYS\.[>*]/;
  expect(lists.filter((one) => everything.test(one))).toEqual([]);
});
