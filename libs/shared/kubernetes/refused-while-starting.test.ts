import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createEarlyRefusalCheck } from './refused-while-starting.ts';
import type { Transport, TransportResponse } from './transport.ts';

const byRoles = 'namespaces is forbidden: User "u" cannot create resource "namespaces" in API group ""';
const answer = (status: number, body = ''): TransportResponse => ({ status, headers: {}, body });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A server that refuses everything, `/readyz` too, until it has read its roles. */
function aServer() {
  let hasRoles = true;
  const send = async () => (hasRoles ? answer(201) : answer(403, byRoles));
  const transport = { send: async () => (hasRoles ? answer(200) : answer(403)) } as unknown as Transport;
  const check = createEarlyRefusalCheck(transport);
  return {
    restart: () => void (hasRoles = false),
    readRoles: () => void (hasRoles = true),
    async create(): Promise<number> {
      const sent = check(send, { timeoutMs: 1000 });
      await vi.advanceTimersByTimeAsync(600);
      this.readRoles();
      await vi.advanceTimersByTimeAsync(600);
      return (await sent).status;
    },
  };
}

test('what a server refuses before it has read its roles is asked again, after every start of it', async () => {
  const server = aServer();
  server.restart();
  expect(await server.create()).toBe(201);
  await vi.advanceTimersByTimeAsync(300_000);
  server.restart();
  expect(await server.create()).toBe(201);
});

test('what a policy refuses because the server has not learned the kind is asked again', async () => {
  const check = createEarlyRefusalCheck({ send: async () => answer(200) } as unknown as Transport);
  const notLearned = `{"message":"Resource kind rollcall.dev/v1alpha1, Kind=ClusterRegistrationToken not found. There can be a delay between when CustomResourceDefinitions are created and when they are available."}`;
  const answers = [answer(503, notLearned), answer(503, notLearned), answer(201)];
  const sent = await check(async () => answers.shift() ?? answer(500), { timeoutMs: 1000 });
  expect(sent.status).toBe(201);
  const full = await check(async () => answer(503, 'the store is full'), { timeoutMs: 1000 });
  expect(full.status).toBe(503);
});
