import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli } from '../../cli/tests/run-cli.ts';
import {
  conditionOf,
  startTestEmbeddedHub,
  type TestAgent,
  type TestEmbeddedHub,
  until,
} from '../harness/embedded.ts';

let hub: TestEmbeddedHub;
beforeAll(async () => {
  hub = await startTestEmbeddedHub();
});
afterAll(() => hub?.[Symbol.asyncDispose]());

const rollcall = (...args: string[]) => runCli([...args, '--kubeconfig', hub.up.plane.adminKubeconfigPath]);
const join = async (name: string): Promise<TestAgent> =>
  hub.startAgent({ name, token: (await hub.createToken()).text });
const untilRefused = (agent: TestAgent, code: string) =>
  until(`the agent hears ${code}`, async () =>
    agent.phases.some((phase) => JSON.stringify(phase).includes(code)),
  );

test('a banned cluster is out with every key; unbanned, a person lets its new key in', async () => {
  const name = 'banned-1';
  const first = await join(name);
  await hub.untilReady(name);
  expect(await rollcall('ban', name, '--reason', 'stolen')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('is banned: PersonBanned'),
  });
  await untilRefused(first, 'CLUSTER_BANNED');
  const second = await join(name);
  await untilRefused(second, 'CLUSTER_BANNED');
  const out = conditionOf(await hub.cluster(name), 'Accepted');
  expect(out).toMatchObject({ status: 'False', reason: 'PersonBanned' });
  expect(await rollcall('unban', name)).toMatchObject({ code: 0 });
  await first.agent.stop();
  await second.agent.stop();
  await join(name);
  const held = await until('the other key is held', async () => {
    const request = await hub.request(name);
    return request?.spec.knownKeyFingerprint !== undefined && request.status?.result === 'Held' && request;
  });
  const { keyFingerprint } = held.spec;
  expect(await rollcall('approve', name)).toMatchObject({ code: 2 });
  expect(await rollcall('approve', name, '--replace-key', keyFingerprint)).toMatchObject({ code: 0 });
  const back = await hub.untilReady(name);
  expect(back.status?.keyFingerprint).toBe(keyFingerprint);
});

test('a revoked key is out, and the same key is let in again by a person', async () => {
  const name = 'revoked-1';
  const member = await join(name);
  await hub.untilReady(name);
  expect(await rollcall('revoke', name)).toMatchObject({ code: 0 });
  await untilRefused(member, 'CLUSTER_REVOKED');
  await hub.untilReady(name, 'False');
  expect(await rollcall('approve', name)).toMatchObject({ code: 0 });
  await hub.untilReady(name);
});
