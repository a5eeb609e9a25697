import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { decideAs, declareToken } from '../../tests/harness/events.ts';
import { until } from '../../tests/harness/embedded.ts';
import { startAgent } from './agent-under-test.ts';
import { type RegisteringHub, startRegisteringHub } from './registering-hub.ts';

let hub: RegisteringHub;
beforeAll(async () => {
  hub = await startRegisteringHub();
});
afterAll(() => hub[Symbol.asyncDispose]());

test('an agent whose leaving waits for a decision gets no credentials, and stays with the connection that it has', async () => {
  const { text: token } = await declareToken(hub.approverLog, hub.hub.hub.hubId);
  await using member = await startAgent(hub.hub, { token, clientId: 'undecided' });
  const cluster = { kind: 'cluster', id: 'undecided' } as const;
  await until('it has asked', async () => (await hub.approverLog.read(cluster)).newest?.type === 'requested');
  await decideAs(hub.approverLog, 'undecided', 'approved');
  await member.agent.admitted();

  await using leaving = await member.runAgain({ leave: true });
  await until('it has asked to leave', async () => {
    const { newest } = await hub.approverLog.read(cluster);
    return newest?.type === 'leave-requested';
  });
  // It asks again after one to two seconds, and then ever more rarely.
  await delay(4000);
  const phases = leaving.heard.events.map(({ phase }) => phase);
  expect(phases.filter((phase) => phase === 'connect')).toHaveLength(1);
  // Each credential that a reply brings is used at once, by a connection of its own.
  expect(phases).not.toContain('renew');
});
