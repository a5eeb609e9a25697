import { once } from 'node:events';
import { type ClientRequest, createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { streamVersion, TunnelStream } from '@rollcall/shared/tunnel';
import { expect, test } from 'vitest';
import { openMemberHttp } from './member-http.ts';
import { memberRequest } from './judge-request.ts';
import { serveStream } from './serve-stream.ts';

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

test.each(['constructor', '__proto__', 'x'])('a header that is called %s goes on as it is', (name) => {
  const said = memberRequest({ ...request, headers: [[name, 'a']] }, access);
  expect('headers' in said && Object.entries(said.headers)).toContainEqual([name, 'a']);
  const twice = [[name, 'a'] as const, [name, 'b'] as const];
  const saidTwice = memberRequest({ ...request, headers: twice }, access);
  expect('headers' in saidTwice && Object.entries(saidTwice.headers)).toContainEqual([name, ['a', 'b']]);
});

test('a member that closes the connection without an answer is told as that', async () => {
  const server = createServer().on('connect', (_request, socket) =>
    socket.on('error', () => undefined).end('HTTP/1.1 200 OK\r\n\r\n'),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const said: string[] = [];
  const stream = new TunnelStream({
    side: 'opened',
    hasBody: false,
    send: (frame) => void said.push(Buffer.from(frame).toString('latin1')),
    onClosed: () => undefined,
  });
  const http = {
    // Node gives up such a request without an error where nobody listens for its answer.
    begin: async () => httpRequest({ host: '127.0.0.1', port, method: 'CONNECT', path: 'member:443' }),
    close: () => undefined,
  };
  await serveStream(stream, request, { http, access });
  await expect.poll(() => said.join('\n')).toContain('without an answer');
  server.close();
});
