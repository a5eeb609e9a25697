import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { KubeApiError } from '@rollcall/shared/kubernetes';
import { createLogger } from '@rollcall/shared/service';
import { expect, test } from 'vitest';
import { nobodysHub } from '../../tests/nobodys-hub.ts';
import type { ConsoleHub } from '../start-console.ts';
import { createSessions, type Session } from './sessions.ts';

const sessionsOf = (hub: Partial<ConsoleHub>, askAgainMs = 3_600_000) =>
  createSessions({
    openHub: () => ({ ...nobodysHub(), ...hub }),
    files: new Map(),
    signIn: 'form',
    limits: { inAll: 3, ofPerson: 3, idleMs: 3_600_000, longestMs: 3_600_000, askAgainMs },
    logger: createLogger({ service: 'test', level: 'error' }),
  });
const anOutgoing = () => new ServerResponse(new IncomingMessage(new Socket()));
const past = () => new Request('https://console.example.org/api/past?at=2026-11-27T04:00:00Z');

test('an answer counts until it is sent, and none outlives its session', async () => {
  await using sessions = sessionsOf({ person: async () => 'alice' });
  const session = (await sessions.open('token', 'secret')) as Session;
  const all = Array.from({ length: 32 }, anOutgoing);
  for (const outgoing of all) expect((await session.answer(past(), outgoing))?.status).toBe(200);
  expect(session.answer(past(), anOutgoing())).toBeUndefined();
  all[0]?.destroy();
  await expect.poll(() => session.answer(past(), anOutgoing())).toBeDefined();
  sessions.close('secret');
  expect(all.map(({ destroyed }) => destroyed)).toEqual(all.map(() => true));
});

test('256 sign-ins wait at once, and the next is told to try again', async () => {
  const answered = Promise.withResolvers<undefined>();
  await using sessions = sessionsOf({ person: () => answered.promise });
  const all = Array.from({ length: 256 }, (_, number) => sessions.open(`token-${number}`, `${number}`));
  expect(await sessions.open('one more', 'one more')).toBe('busy');
  answered.resolve(undefined);
  expect(new Set(await Promise.all(all))).toEqual(new Set(['unknown']));
  expect(await sessions.open('one more', 'one more')).toBe('unknown');
});

test('a sign-in that is under way when the console ends opens no session', async () => {
  const answered = Promise.withResolvers<string>();
  const sessions = sessionsOf({ person: () => answered.promise });
  const [first, ...waiting] = Array.from({ length: 10 }, (_, number) => sessions.open('token', `${number}`));
  const ended = sessions[Symbol.asyncDispose]();
  answered.resolve('alice');
  await ended;
  expect(new Set(await Promise.all([first, ...waiting]))).toEqual(new Set(['away']));
  expect(sessions.of('0')).toBeUndefined();
});

test('what is said late about a session that has ended ends no other one of the same token', async () => {
  const late: PromiseWithResolvers<string>[] = [];
  let isLate = false;
  async function person(): Promise<string> {
    if (!isLate) return 'alice';
    const answer = Promise.withResolvers<string>();
    late.push(answer);
    return answer.promise;
  }
  await using sessions = sessionsOf({ person }, 200);
  const first = await sessions.open('token', 'token');
  isLate = true;
  await expect.poll(() => late.length).toBe(1);
  isLate = false;
  sessions.close('token');
  const second = await sessions.open('token', 'token');
  expect(second).not.toBe(first);
  late[0]?.reject(new KubeApiError('who?', { status: 401, reason: 'Unauthorized', details: {} }));
  await new Promise((resolve) => setImmediate(resolve));
  expect(sessions.of('token')).toBe(second);
});
