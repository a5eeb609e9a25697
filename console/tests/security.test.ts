import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Action, type RunningConsole, startConsole } from '@rollcall/console';
import { buildPage, isPageStale } from '../../tools/build-page.mjs';
import { pageFiles } from '../server/page-files.ts';
import { nobodysHub } from './nobodys-hub.ts';
import { type Answer, send } from './send.ts';

const nobody = 65_534;
/** Only the administrator can be somebody else. */
const canBeOther = process.platform === 'linux' && process.getuid?.() === 0;
const acted: Action[] = [];
const written: string[] = [];
let running: RunningConsole;
let origin: string;
let lookedAt: Answer;
/** Of another user of the machine, before it was opened. */
let ofOther: Answer | undefined;
let opened: Answer;
let cookie: string;

beforeAll(async () => {
  if (isPageStale()) await buildPage();
  const noted = async (what: object | string) => {
    written.push(JSON.stringify(what));
    return 'done';
  };
  const hub = nobodysHub();
  running = await startConsole(
    {
      ...hub,
      policies: {
        ...hub.policies,
        write: async ({ text }) => {
          written.push(text);
          return { name: 'x', words: 'written' };
        },
      },
      tokens: {
        ...hub.tokens,
        make: async ({ publicKey: key }) => {
          written.push(key);
          return { namespace: '', name: '', terms: '', isTaken: true, command: '', values: '' };
        },
        revoke: noted,
      },
      health: { ...hub.health, confirm: noted, mend: noted },
      act: async (action) => {
        acted.push(action);
        return 'done';
      },
    },
    { ownUserOnly: true },
  );
  ({ origin } = new URL(running.link));
  // A connection that is kept would be that of who asked first.
  const headers = { connection: 'close' };
  lookedAt = await send(running.link, { method: 'HEAD', headers });
  if (canBeOther) {
    process.seteuid?.(nobody);
    ofOther = await send(running.link, { headers }).finally(() => process.seteuid?.(0));
  }
  opened = await send(running.link);
  cookie = opened.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
});
afterAll(() => running[Symbol.asyncDispose]());

const publicKey = `U${'A'.repeat(55)}`;
/** Each of them is one that the page sends. */
const otherWrites = {
  '/api/policies/check': { text: '' },
  '/api/policies/try': { text: '', days: 1 },
  '/api/policies/write': { text: '' },
  '/api/tokens/make': { publicKey, uses: '1', ttl: '1h' },
  '/api/tokens/revoke': { namespace: 'rollcall-join', name: 'one', uid: 'u' },
  '/api/hub/confirm': { id: 'b-0123456789' },
  '/api/hub/mend': { verb: 'drop', ids: ['1'] },
};

const aDenial = JSON.stringify({ verb: 'deny', target: 'edge' } satisfies Action);
const asPage = () => ({
  cookie,
  origin,
  'sec-fetch-site': 'same-origin',
  'content-type': 'application/json',
});

test('the link gives a session that no script and no other site can use', () => {
  expect([opened.status, opened.headers.location]).toEqual([303, '/']);
  const [set = ''] = opened.headers['set-cookie'] ?? [];
  expect(set).toMatch(/; HttpOnly/);
  expect(set).toMatch(/; SameSite=Strict/);
});

test('who only asks for the head of the link has not used it up', () => {
  expect([lookedAt.status, lookedAt.headers['set-cookie'], opened.status]).toEqual([405, undefined, 303]);
});

test.each(['/api/live', '/api/past'])(
  'the head of the stream %s is refused, so that none is left without a reader',
  async (path) => {
    const head = await send(`${origin}${path}`, { method: 'HEAD', headers: { cookie } });
    expect([head.status, head.headers['allow']]).toEqual([405, 'GET']);
  },
);

test.each([
  { name: 'from another origin', change: { origin: 'http://127.0.0.1:1' } },
  { name: 'from another site', change: { 'sec-fetch-site': 'cross-site' } },
  { name: 'with the session of another console', change: { cookie: `rollcall-console-1=${'A'.repeat(43)}` } },
])('the past is not read $name', async ({ change }) => {
  for (const path of ['/api/past?at=2026-11-27T04:00:00Z', '/api/clusters/edge?at=2026-11-27T04:00:00Z']) {
    const answer = await send(`${origin}${path}`, { headers: { ...asPage(), ...change } });
    expect([answer.status, answer.body]).toEqual([403, expect.stringContaining('REFUSED')]);
  }
});

test('of a moment that is none nothing is read', async () => {
  for (const path of ['/api/past', '/api/past?at=yesterday', '/api/clusters/edge?at=2999-01-01T00:00:00Z'])
    expect([path, (await send(`${origin}${path}`, { headers: { cookie } })).status]).toEqual([path, 400]);
});

test('a past that cannot be read says why, in the words of who knows', async () => {
  const { status, body } = await send(`${origin}/api/past?at=2026-11-27T04:00:00Z`, { headers: { cookie } });
  expect([status, JSON.parse(body)]).toMatchObject([
    200,
    { kind: 'refused', refusal: { code: 'BUS_UNREACHABLE', message: 'nobody listens' } },
  ]);
});

test('the page and what it is made of come only with the session', async () => {
  const page = await send(`${origin}/`, { headers: { cookie } });
  expect(page.status).toBe(200);
  for (const path of [
    '/',
    '/clusters/edge',
    '/requests',
    '/events',
    '/api/live',
    '/api/clusters/edge',
    '/api/past?at=2026-11-27T04:00:00Z',
    '/api/policies',
    '/policies/default',
    '/api/tokens',
    '/api/events?from=2026-11-27T04:00:00Z',
    '/api/tokens/hub',
    '/api/hub/status',
    '/api/hub/doctor',
    '/api/hub/operations',
    '/api/hub/dead',
    '/tokens',
    '/hub',
    '/index.html',
  ])
    expect([path, (await send(`${origin}${path}`)).status]).toEqual([path, 403]);
});

test.skipIf(!canBeOther)(
  'a link that a command opens is opened by no other user, who does not use it up',
  () => {
    expect(ofOther).toMatchObject({ status: 403, body: expect.stringContaining('another user') });
    expect([ofOther?.headers['set-cookie'], opened.status]).toEqual([undefined, 303]);
  },
);

test.skipIf(!canBeOther)('a link that is printed alone is opened by whoever has it', async () => {
  await using printed = await startConsole(nobodysHub());
  process.seteuid?.(nobody);
  const answer = await send(printed.link, { headers: { connection: 'close' } }).finally(() =>
    process.seteuid?.(0),
  );
  expect(answer.status).toBe(303);
});

test('the link opens once', async () => {
  const again = await send(running.link);
  expect([again.status, again.headers['set-cookie']]).toEqual([403, undefined]);
  expect(again.body).toContain('rollcall console');
});

test('a key that is none opens nothing', async () => {
  expect((await send(`${origin}/open?key=${'A'.repeat(43)}`)).status).toBe(403);
  expect((await send(`${origin}/open`)).status).toBe(403);
});

test('by another name the console does not answer, whatever session is shown', async () => {
  const port = new URL(origin).port;
  for (const host of ['rebound.example', `rebound.example:${port}`, `localhost:${port}`])
    expect([host, (await send(`${origin}/`, { headers: { cookie, host } })).status]).toEqual([host, 403]);
});

test.each([
  { name: 'without an origin', change: { origin: '' } },
  { name: 'from another origin', change: { origin: 'http://127.0.0.1:1' } },
  { name: 'from a sandboxed frame', change: { origin: 'null' } },
  { name: 'from another port of this machine', change: { 'sec-fetch-site': 'same-site' } },
  { name: 'without the session', change: { cookie: '' } },
  { name: 'with a session that somebody made up', change: { cookie: 'rollcall-console=AAAA' } },
])('an action $name is refused, and nothing is done', async ({ change }) => {
  const headers = Object.fromEntries(
    Object.entries<string>({ ...asPage(), ...change }).filter(([, value]) => value !== ''),
  );
  const answer = await send(`${origin}/api/actions`, { method: 'POST', headers, body: aDenial });
  expect(answer.status).toBe(403);
  expect(acted).toEqual([]);
  for (const [path, body] of Object.entries(otherWrites)) {
    const other = await send(`${origin}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    expect([path, other.status, other.body]).toEqual([path, 403, expect.stringContaining('REFUSED')]);
  }
  expect(written).toEqual([]);
});

test.each([
  { name: 'an unknown verb', body: '{"verb":"wipe","target":"edge"}' },
  { name: 'a field that nobody knows', body: '{"verb":"deny","target":"edge","force":true}' },
  { name: 'no JSON', body: 'verb=deny&target=edge' },
])('$name is no action', async ({ body }) => {
  const answer = await send(`${origin}/api/actions`, { method: 'POST', headers: asPage(), body });
  expect([answer.status, acted]).toEqual([400, []]);
});

test('a policy of the page itself is written; one with an unknown field, or too long, is not read', async () => {
  const write = (body: object, more: Record<string, string> = {}) =>
    send(`${origin}/api/policies/write`, {
      method: 'POST',
      headers: { ...asPage(), ...more },
      body: JSON.stringify(body),
    });
  expect((await write({ text: 'x', force: true })).status).toBe(400);
  expect((await write({ text: 'x'.repeat(300_001) })).status).toBe(400);
  // The length that is announced is enough to be refused: nothing more of it is sent.
  const long = { 'content-length': '700000', connection: 'close' };
  expect((await write({ text: 'x' }, long)).status).toBe(413);
  expect(written).toEqual([]);
  expect([(await write({ text: 'x' })).status, written]).toEqual([200, ['x']]);
});

test.each([
  { name: 'a token with more of it than its public half', path: 'tokens/make', more: { secret: 'x' } },
  { name: 'a token whose key is none', path: 'tokens/make', more: { publicKey: 'rc1.abc.def' } },
  { name: 'a dead letter by a word', path: 'hub/mend', more: { ids: ['--all'] } },
  { name: 'a confirmation of more than an id', path: 'hub/confirm', more: { by: 'somebody' } },
])('$name is not taken', async ({ path, more }) => {
  const before = [...written];
  const body = { ...otherWrites[`/api/${path}` as keyof typeof otherWrites], ...more };
  const headers = asPage();
  const url = `${origin}/api/${path}`;
  const answer = await send(url, { method: 'POST', headers, body: JSON.stringify(body) });
  expect([answer.status, written]).toEqual([400, before]);
});

test('an action that is too long is not read', async () => {
  const body = JSON.stringify({ verb: 'deny', target: 'edge', reason: 'x'.repeat(5000) });
  expect((await send(`${origin}/api/actions`, { method: 'POST', headers: asPage(), body })).status).toBe(413);
});

test('an action of the page itself is done', async () => {
  const answer = await send(`${origin}/api/actions`, { method: 'POST', headers: asPage(), body: aDenial });
  expect([answer.status, JSON.parse(answer.body), acted]).toEqual([
    200,
    { words: 'done' },
    [{ verb: 'deny', target: 'edge' }],
  ]);
});

test('every answer forbids frames, other origins, inline code and being kept', async () => {
  for (const path of ['/', '/api/clusters/edge', '/nowhere', '/open']) {
    const { headers } = await send(`${origin}${path}`, { headers: { cookie } });
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(headers['content-security-policy']).not.toContain('unsafe');
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
    });
  }
});

test('no path leads out of the built page', async () => {
  for (const path of ['/../rows.ts', '/..%2f..%2fpackage.json', '/assets/../../package.json'])
    expect([path, (await send(`${origin}${path}`, { headers: { cookie } })).status]).toEqual([path, 404]);
});

test('all that the page loads is at most 150 kB, compressed', async () => {
  const files = await pageFiles();
  const bytes = [...files.values()].reduce((sum, { gzip }) => sum + gzip.byteLength, 0);
  expect(bytes).toBeGreaterThan(10_000);
  expect(bytes).toBeLessThanOrEqual(150_000);
});
