import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { draft, tokenUsed } from '@rollcall/shared/events';
import { tokenIdOf } from '@rollcall/shared/trust';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { beginSecondEpoch } from '../../tests/attacks/second-epoch.ts';
import { until } from '../../tests/harness/embedded.ts';
import { declareToken } from '../../tests/harness/events.ts';
import { startTestHub, type TestHub } from '../../tests/harness/test-hub.ts';
import { runCli, startCli } from './run-cli.ts';

/** A sink of somebody else, and `rollcall events forward` as a process of its own, so that it can be killed. */
let hub: TestHub;
let busFlags: string[];
let secretFile: string;
const secret = Buffer.alloc(32, 9);

interface Taken {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}
const taken: Taken[] = [];
/** What the sink says to a message. */
let answer: (body: string) => number = () => 204;
const sink = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    const body = Buffer.concat(parts).toString('utf8');
    const status = answer(body);
    if (status < 300) taken.push({ headers: request.headers, body });
    response.writeHead(status).end();
  });
});
const address = () => `http://127.0.0.1:${(sink.address() as AddressInfo).port}/hook?key=hidden`;

beforeAll(async () => {
  hub = await startTestHub();
  const caFile = join(hub.stateDir, 'ca.pem');
  writeFileSync(caFile, hub.address.caPem);
  secretFile = join(hub.stateDir, 'webhook.secret');
  writeFileSync(secretFile, `whsec_${secret.toString('base64')}\n`);
  const creds = join(hub.stateDir, 'inspector.creds');
  busFlags = ['--server', `127.0.0.1:${hub.port}`, '--ca-file', caFile, '--creds', creds];
  sink.listen(0, '127.0.0.1');
  await once(sink, 'listening');
});
afterAll(async () => {
  sink.close();
  await hub[Symbol.asyncDispose]();
});
beforeEach(() => {
  taken.length = 0;
  answer = () => 204;
});

const declare = async (...names: string[]) => {
  const log = await hub.openLog('approver');
  for (const name of names) await declareToken(log, hub.hub.hubId, { name });
};
const forward = (place: string, ...more: string[]) =>
  startCli([
    'events',
    'forward',
    '--to',
    address(),
    '--type',
    'token.declared',
    '--position',
    join(hub.stateDir, place),
    ...busFlags,
    ...more,
  ]);
const namesIn = (all: readonly Taken[]) =>
  all.flatMap(({ body }) => /"name":"([\w-]+)"/.exec(body)?.[1] ?? []);

test('events come in their order, signed, also after the sink was down and the forwarder was killed', async () => {
  await declare('a-1', 'a-2');
  let tries = 0;
  answer = () => (tries++ < 2 ? 503 : 204);
  const secretly = ['--secret-file', secretFile, '--since', '1h'];
  {
    await using cli = forward('killed', ...secretly);
    await cli.line(/127\.0\.0\.1:\d+ takes nothing: it answers 503; trying on/);
    await cli.line(/takes events again/);
    await until('both are there', async () => taken.length === 2);
    cli.child.kill('SIGKILL');
    const { stderr } = await cli.result;
    expect(stderr).not.toContain('hidden');
  }
  await declare('a-3', 'a-4');
  // That is for the first start.
  const later = ['--since', new Date().toISOString()];
  await using again = forward('killed', '--secret-file', secretFile, ...later);
  await until('the others are there, too', async () => namesIn(taken).includes('a-4'));
  const place = join(hub.stateDir, 'killed');
  const beside = ['events', 'forward', '--to', address(), '--position', place].concat(busFlags);
  const second = await runCli(beside);
  expect(second.stderr).toContain('STATE_IN_USE');
  again.child.kill('SIGTERM');
  expect(await again.result).toMatchObject({ code: 0, stdout: '2 events forwarded, 0 refused\n' });
  expect(namesIn(taken)).toEqual(['a-1', 'a-2', 'a-3', 'a-4']);
  for (const { headers, body } of taken) {
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    const signature = createHmac('sha256', secret).update(signed).digest('base64');
    expect(headers['webhook-signature']).toBe(`v1,${signature}`);
  }
});

test('after a restore all of the new epoch comes, also where the history has outgrown what it took back', async () => {
  const place = join(hub.stateDir, 'outgrown');
  await declare('e-1');
  await beginSecondEpoch(hub, 'registrar', 0);
  await declare('e-2', 'e-3');
  {
    await using cli = forward('outgrown');
    await until('it knows where the history ends', async () => existsSync(place));
    cli.child.kill('SIGTERM');
    await cli.result;
  }
  const [, end] = /^(\d+) 2\n$/.exec(readFileSync(place, 'utf8')) ?? [];
  // As one that was stopped in the epoch before, with the same number of events.
  writeFileSync(place, `${end} 1\n`);
  await using again = forward('outgrown');
  await again.line(/the hub was restored: what is new is forwarded/);
  await until('all is there', async () => namesIn(taken).includes('e-3'));
  again.child.kill('SIGTERM');
  await again.result;
  expect(namesIn(taken)).toEqual(['e-2', 'e-3']);
  expect(readFileSync(place, 'utf8')).toBe(`${end} 2\n`);
});

test('what the sink calls wrong is left out and said, and a server that starts again is waited for', async () => {
  answer = (body) => (body.includes('"b-2"') ? 422 : 204);
  await using cli = forward('restarted');
  await cli.line(/forwarding to/);
  await until('it listens', async () => {
    await declare('b-1');
    return taken.length > 0;
  });
  await hub.natsServer.kill();
  await hub.natsServer.restart();
  await declare('b-2', 'b-3');
  await until('the last is there', async () => namesIn(taken).includes('b-3'));
  await cli.line(/refuses this event: it answers 422/);
  cli.child.kill('SIGINT');
  expect((await cli.result).stdout).toMatch(/^\d+ events forwarded, 1 refused\n$/);
  expect(namesIn(taken)).not.toContain('b-2');
});

test('of a token that is used up one is told once, by the use that was its last', async () => {
  const log = await hub.openLog('approver');
  const { key } = await declareToken(log, hub.hub.hubId, { name: 'd-1', uses: 2 });
  const aggregate = { kind: 'token', id: tokenIdOf(key.publicKey) } as const;
  const uses = await hub.openLog('registrar');
  for (const used of [1, 2]) {
    const { head } = await uses.read(aggregate);
    const section = { used, lastUsedBy: 'c', lastUsedAtMs: Date.now() };
    const what = { reason: 'Used', message: `use ${used}`, section };
    await uses.append([draft(tokenUsed, { aggregate, head }, what)], { correlation: 'test' });
  }
  const place = join(hub.stateDir, 'last-use');
  await using cli = startCli([
    'events',
    'forward',
    '--to',
    address(),
    '--only',
    'token-used-up',
    '--since',
    '1h',
    '--position',
    place,
    ...busFlags,
  ]);
  await until('it is there', async () => taken.length > 0);
  cli.child.kill('SIGTERM');
  await cli.result;
  expect(taken.map(({ body }) => /"message":"(use \d)"/.exec(body)?.[1])).toEqual(['use 2']);
});

test('a chat gets what a template makes of it', async () => {
  const template = join(hub.stateDir, 'chat.json');
  writeFileSync(template, '{"text": "{{cluster}}: {{type}}, {{message}}"}');
  await declare('c-1');
  await using cli = forward('chat', '--template', template, '--since', '1h');
  await until('it is there', async () => taken.some(({ body }) => body.includes('c-1')));
  cli.child.kill('SIGTERM');
  const last = taken.find(({ body }) => body.includes('c-1'));
  expect(JSON.parse(last?.body ?? '')).toEqual({ text: 'rollcall-join/c-1: declared, declared' });
});

test.each([
  { flags: ['--to', 'ftp://sink'], code: 2, says: 'no address of a sink' },
  { flags: ['--to', 'https://sink', '--only', 'all'], code: 2, says: '--only "all" is none of unreachable' },
  { flags: ['--to', 'https://sink', '--type', 'nothing'], code: 2, says: 'is no type of event' },
  { flags: ['--to', 'file:nowhere'], code: 2, says: 'nowhere' },
])('$flags ends with $code before anything is connected', async ({ flags, code, says }) => {
  const { code: ended, stderr } = await runCli(['events', 'forward', ...flags]);
  expect(stderr).toContain(says);
  expect(ended).toBe(code);
});
