import type { ClientRequest } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { streamVersion, TunnelStream } from '@rollcall/shared/tunnel';
import { expect, test } from 'vitest';
import { openMemberHttp } from './member-http.ts';
import { memberRequest, serveStream } from './serve-stream.ts';

const request = {
  version: streamVersion,
  gateway: 'g',
  stream: 's',
  method: 'GET',
  path: '/version',
  headers: [],
  hasBody: false,
  user: 'alice',
  groups: [],
};
const access = { as: 'people', users: ['alice'], groups: {} } as const;

test.each([
  { name: 'older', version: streamVersion - 1, want: undefined },
  { name: 'the same', version: streamVersion, want: undefined },
  { name: 'newer', version: streamVersion + 1, want: 'version' },
])('a request of a version that is $name is refused with $want', ({ version, want }) => {
  const said = memberRequest({ ...request, version }, access);
  expect('refused' in said ? said.refused : undefined).toBe(want);
});

test('a person who gives up while the token is made does not end the agent', async () => {
  const uncaught: unknown[] = [];
  const note = (error: unknown) => void uncaught.push(error);
  process.on('uncaughtExceptionMonitor', note);
  const token = Promise.withResolvers<string>();
  const names = { namespace: 'default', clusterName: 'c', contextName: 'c', userName: 'c' };
  const member = { server: 'https://127.0.0.1:1', token: () => token.promise, ...names };
  const http = openMemberHttp(member, access, '0');
  let begun: ClientRequest | undefined;
  const stream = new TunnelStream({
    side: 'opened',
    hasBody: false,
    send: () => undefined,
    onClosed: () => undefined,
  });
  const begin: typeof http.begin = async (options) => (begun = await http.begin(options));
  const served = serveStream(stream, request, { http: { ...http, begin }, access });
  stream.destroy();
  token.resolve('t');
  await served;
  await expect.poll(() => begun?.closed).toBe(true);
  await nextTurn();
  http.close();
  process.off('uncaughtExceptionMonitor', note);
  expect(uncaught).toEqual([]);
});
