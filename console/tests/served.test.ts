import { resources } from '@rollcall/shared/kubernetes';
import { createLogger } from '@rollcall/shared/service';
import axe from 'axe-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { consoleHub } from '../../cli/console/console-hub.ts';
import { startTestEmbeddedHub, type TestEmbeddedHub, until } from '../../tests/harness/embedded.ts';
import { chromiumPath, openBrowser, takeScreenshots } from './browser.ts';
import { createSessions, sessionSecret } from '../server/served/sessions.ts';
import type { SendOptions } from './send.ts';
import { addPerson, giveBusSecrets, serveConsoleOf, type ServedOnHub } from './served-on-hub.ts';

/** The console of a cluster, as its pod runs it, on a hub with three people: one may all, one nothing, one looks. */
const started = new AsyncDisposableStack();
let hub: TestEmbeddedHub;
let served: ServedOnHub;
let behindProxy: ServedOnHub;
const tokens = { alice: '', bob: '', carol: '' };

beforeAll(async () => {
  hub = started.use(await startTestEmbeddedHub());
  await giveBusSecrets(hub);
  await hub.up.admin.create(resources.approvalPolicies, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ApprovalPolicy',
    metadata: { name: 'people' },
    spec: { rules: [{ name: 'ask', when: 'true', effect: 'Hold', reason: 'AskPeople' }] },
  });
  await hub.startAgent({ name: 'edge', token: (await hub.createToken()).text });
  tokens.alice = await addPerson(hub, 'alice', ['rollcall-admin', 'rollcall-inspector-reader']);
  tokens.bob = await addPerson(hub, 'bob', []);
  tokens.carol = await addPerson(hub, 'carol', ['rollcall-viewer']);
  served = await serveConsoleOf(hub, 'served', []);
  started.use(served.cli);
  behindProxy = await serveConsoleOf(hub, 'proxy', ['--behind-proxy', 'true']);
  started.use(behindProxy.cli);
});
afterAll(() => started.disposeAsync());

test('a session ends when its token is taken back, whatever that says of its end', async () => {
  const { plane, natsAddress } = hub.up;
  await using sessions = createSessions({
    openHub: (token) => {
      const { server, caPem, namespace, clusterName, contextName } = plane.access;
      const access = { server, caPem, namespace, clusterName, contextName, userName: '', token };
      return consoleHub({ as: { access, bus: natsAddress } });
    },
    files: new Map(),
    signIn: 'form',
    limits: { inAll: 1, ofPerson: 1, idleMs: 3_600_000, longestMs: 3_600_000, askAgainMs: 100 },
    logger: createLogger({ service: 'test', level: 'error' }),
  });
  const [token, secret] = [await addPerson(hub, 'dave', []), sessionSecret()];
  expect(await sessions.open(token, secret)).toMatchObject({ person: 'system:serviceaccount:default:dave' });
  expect(await sessions.open(tokens.bob, sessionSecret())).toBe('full');
  await hub.up.admin.delete(resources.serviceAccounts, 'dave', { namespace: 'default' });
  await until('dave is out', async () => sessions.of(secret) === undefined);
});

const ofPage = () => ({ origin: `https://${served.publicHost}`, 'sec-fetch-site': 'same-origin' });
const formOf = (token: string) => ({
  method: 'POST',
  headers: { ...ofPage(), 'content-type': 'application/x-www-form-urlencoded' },
  body: `token=${encodeURIComponent(token)}`,
});
async function signIn(token: string): Promise<string> {
  const { status, headers } = await served.ask('/sign-in', formOf(token));
  expect(status).toBe(303);
  return headers['set-cookie']?.[0]?.split(';')[0] ?? '';
}
const act = (action: object, headers: Record<string, string>): SendOptions => ({
  method: 'POST',
  headers: { ...ofPage(), 'content-type': 'application/json', ...headers },
  body: JSON.stringify(action),
});
/** What a page is told, up to the first that fits. */
const liveUntil = async (cookie: string, pattern: RegExp, { ask } = served) =>
  (await ask('/api/live', { headers: { cookie }, isEnough: (body) => pattern.test(body) })).body;

test('who has not signed in gets the form, and nothing of the hub', async () => {
  for (const path of ['/', '/clusters/edge', '/events', '/index.html']) {
    const { status, headers } = await served.ask(path);
    expect([path, status, headers['location']]).toEqual([path, 303, '/sign-in']);
  }
  for (const path of [
    '/api/live',
    '/api/clusters/edge',
    '/api/policies',
    '/api/past?at=2026-11-27T04:00:00Z',
  ])
    expect([path, (await served.ask(path)).status]).toEqual([path, 401]);
  const { status, body, headers } = await served.ask('/sign-in');
  expect([status, body]).toEqual([200, expect.stringContaining('type="password"')]);
  expect(headers['content-security-policy']).toContain("form-action 'self'");
  expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
  expect(headers['strict-transport-security']).toBeDefined();
  expect(body).not.toContain('<script');
});

test('a token that the API server does not know signs nobody in, and is not shown again', async () => {
  const forged = `${tokens.alice.slice(0, -8)}AAAAAAAA`;
  for (const wrong of [forged, 'made-up']) {
    const { status, headers, body } = await served.ask('/sign-in', formOf(wrong));
    expect([status, headers['set-cookie']]).toEqual([401, undefined]);
    expect(body).toContain('does not know this token');
    expect(body).not.toContain(wrong);
  }
  for (const none of ['', 'a b', 'a\nb'])
    expect([none, (await served.ask('/sign-in', formOf(none))).status]).toEqual([none, 400]);
  expect((await served.ask('/sign-in', formOf('A'.repeat(40_000)))).status).toBe(413);
  const unreadable = { ...ofPage(), 'content-type': 'multipart/form-data' };
  const sent = { method: 'POST', headers: unreadable, body: 'token=x' };
  expect((await served.ask('/sign-in', sent)).status).toBe(400);
});

test('who sends many made-up tokens at once has them asked about in turn, and is not told that there is no room', async () => {
  const all = Array.from({ length: 60 }, (_, number) => served.ask('/sign-in', formOf(`made-up-${number}`)));
  expect(new Set((await Promise.all(all)).map(({ status }) => status))).toEqual(new Set([401]));
});

test.each([
  { name: 'from another origin', change: { origin: 'https://evil.example' } },
  { name: 'from a page of nowhere', change: { origin: 'null' } },
  { name: 'by the same name without TLS', change: { origin: 'http://console.example.org' } },
  { name: 'by another Host', change: { host: 'rebound.example' } },
  { name: 'by its address', change: { host: '127.0.0.1' } },
])('nobody is signed in or out, and nothing is done $name', async ({ change }) => {
  const cookie = await signIn(tokens.alice);
  const signingIn = formOf(tokens.alice);
  const into = await served.ask('/sign-in', { ...signingIn, headers: { ...signingIn.headers, ...change } });
  expect([into.status, into.headers['set-cookie']]).toEqual([403, undefined]);
  const out = { ...ofPage(), cookie, ...change };
  expect((await served.ask('/sign-out', { method: 'POST', headers: out })).status).toBe(403);
  const action = act({ verb: 'cordon', target: 'edge' }, { cookie, ...change });
  expect((await served.ask('/api/actions', action)).status).toBe(403);
  expect((await served.ask('/api/policies', { headers: { ...out } })).status).toBe(403);
  expect((await served.ask('/api/policies', { headers: { cookie } })).status).toBe(200);
});

test('another site that has a browser ask gets nothing', async () => {
  const cookie = await signIn(tokens.alice);
  const headers = { cookie, 'sec-fetch-site': 'cross-site' };
  for (const path of ['/api/live', '/api/policies', '/api/clusters/edge', '/%61pi/policies'])
    expect([path, (await served.ask(path, { headers })).status]).toEqual([path, 403]);
});

test('who signs in acts and is named as who they are to the API server', async () => {
  const opened = await served.ask('/sign-in', formOf(tokens.alice));
  const [set = ''] = opened.headers['set-cookie'] ?? [];
  expect(set).toMatch(/^__Host-rollcall-console=/);
  for (const flag of ['HttpOnly', 'Secure', 'SameSite=Strict', 'Path=/']) expect(set).toContain(flag);
  expect(set).not.toContain(tokens.alice);
  const cookie = set.split(';')[0] ?? '';
  const live = await liveUntil(cookie, /"history":\{"isHeard":true/);
  expect(live).toContain('"person":"system:serviceaccount:default:alice"');

  await until('it waits', async () => (await hub.request('edge'))?.status?.result === 'Held');
  const approved = await served.ask('/api/actions', act({ verb: 'approve', target: 'edge' }, { cookie }));
  expect([approved.status, approved.body]).toEqual([200, expect.stringContaining('approved')]);
  await hub.untilReady('edge');
  const { body } = await served.ask('/api/clusters/edge', { headers: { cookie } });
  expect(body).toContain('system:serviceaccount:default:alice');
});

test('who has no rights is refused by the API server, in its words, and hears nothing of the bus', async () => {
  const cookie = await signIn(tokens.bob);
  const live = await liveUntil(cookie, /"history":\{"isHeard":false,"why".*/);
  expect(live).toContain('system:serviceaccount:default:bob');
  expect(live).toMatch(/cannot (list|get)/);
  expect(live).not.toContain('"isHeard":true');
  const { status, body } = await served.ask(
    '/api/actions',
    act({ verb: 'cordon', target: 'edge' }, { cookie }),
  );
  expect([status, body]).toEqual([403, expect.stringMatching(/bob.* cannot/)]);
  expect((await served.ask('/api/clusters/edge', { headers: { cookie } })).status).toBe(403);
  expect((await served.ask('/api/policies', { headers: { cookie } })).status).toBe(403);
});

test.each(['check', 'try', 'write'])(
  'who may nothing has no text that takes the parser minutes read by %s',
  async (path) => {
    const cookie = await signIn(tokens.bob);
    const text = Array.from({ length: 15_000 }, (_, number) => `key-${number}: 1`).join('\n');
    const { status, body } = await served.ask(`/api/policies/${path}`, {
      method: 'POST',
      headers: { ...ofPage(), 'content-type': 'application/json', cookie },
      body: JSON.stringify({ text, ...(path === 'try' && { days: 1 }) }),
    });
    expect([status, body]).toEqual([400, expect.stringContaining('more YAML than the console reads')]);
  },
);

test('who may only look sees clusters, hears nothing of the bus, and decides nothing', async () => {
  const cookie = await signIn(tokens.carol);
  const live = await liveUntil(cookie, /"kubernetes":\{"isHeard":true\}.*"why"/s);
  expect(live).toContain('rollcall-inspector');
  const { status } = await served.ask('/api/actions', act({ verb: 'cordon', target: 'edge' }, { cookie }));
  expect(status).toBe(403);
});

test('a session is of one browser: no other secret, and no token, is a session', async () => {
  const [cookie, other] = [await signIn(tokens.alice), await signIn(tokens.bob)];
  expect(cookie).not.toBe(other);
  expect(await liveUntil(other, /"person"/)).not.toContain('alice');
  const [name] = cookie.split('=');
  for (const wrong of [
    `${name}=${'A'.repeat(43)}`,
    `${name}=${tokens.alice}`,
    `${name}=`,
    cookie.toLowerCase(),
  ])
    expect((await served.ask('/api/policies', { headers: { cookie: wrong } })).status).toBe(401);
  // Here people sign in by the form alone.
  const authorization = `Bearer ${tokens.alice}`;
  expect((await served.ask('/api/policies', { headers: { authorization } })).status).toBe(401);
});

test('who signs out is out, in that browser alone', async () => {
  const [cookie, other] = [await signIn(tokens.alice), await signIn(tokens.alice)];
  const out = await served.ask('/sign-out', { method: 'POST', headers: { ...ofPage(), cookie } });
  expect([out.status, out.headers['location']]).toEqual([303, '/sign-in']);
  expect((await served.ask('/api/policies', { headers: { cookie } })).status).toBe(401);
  expect((await served.ask('/api/policies', { headers: { cookie: other } })).status).toBe(200);
});

test('one person has three sessions, and the fourth ends only one of their own', async () => {
  const ofBob = await signIn(tokens.bob);
  const first = await signIn(tokens.carol);
  for (const _ of [2, 3, 4]) await signIn(tokens.carol);
  expect((await served.ask('/api/policies', { headers: { cookie: first } })).status).toBe(401);
  expect((await served.ask('/api/policies', { headers: { cookie: ofBob } })).status).toBe(403);
});

test('who signs in anew in one browser ends no session of their others', async () => {
  const [first, second] = [await signIn(tokens.carol), await signIn(tokens.carol)];
  const last = await signIn(tokens.carol);
  const again = await served.ask('/sign-in', {
    ...formOf(tokens.carol),
    headers: { ...formOf('').headers, cookie: last },
  });
  expect(again.status).toBe(303);
  const statusOf = async (cookie: string) =>
    (await served.ask('/api/policies', { headers: { cookie } })).status;
  expect([await statusOf(first), await statusOf(second), await statusOf(last)]).toEqual([200, 200, 401]);
});

test('one session has 32 requests under way, streams among them, and others are answered beside it', async () => {
  const [cookie, other] = [await signIn(tokens.bob), await signIn(tokens.carol)];
  const headers = { cookie };
  let refused = 0;
  const all = Array.from({ length: 40 }, async () => {
    const { status } = await served.ask('/api/live', { headers, mayBeCut: true });
    if (status === 429) refused++;
    return status;
  });
  await until('the rest is refused', async () => refused === 8);
  expect((await served.ask('/api/policies', { headers })).status).toBe(429);
  expect((await served.ask('/api/policies', { headers: { cookie: other } })).status).toBe(200);
  await served.ask('/sign-out', { method: 'POST', headers: { ...ofPage(), cookie } });
  expect((await Promise.all(all)).filter((status) => status === 200)).toHaveLength(32);
});

test('behind a proxy its token counts, at every request, and no cookie is made', async () => {
  const { ask, publicHost } = behindProxy;
  const authorization = `Bearer ${tokens.alice}`;
  const page = await ask('/', { headers: { authorization } });
  expect([page.status, page.headers['set-cookie']]).toEqual([200, undefined]);
  expect((await ask('/api/policies', { headers: { authorization } })).status).toBe(200);
  expect((await ask('/api/policies', { headers: { authorization: `Bearer ${tokens.bob}` } })).status).toBe(
    403,
  );
  for (const wrong of [
    {},
    { authorization: 'Bearer made-up' },
    { authorization: `Basic ${tokens.alice}` },
    { cookie: tokens.alice },
  ])
    expect((await ask('/api/policies', { headers: wrong })).status).toBe(401);
  const from = (origin: string) =>
    ask('/api/actions', act({ verb: 'cordon', target: 'nobody' }, { authorization, origin }));
  expect((await from('https://evil.example')).status).toBe(403);
  expect((await from(`https://${publicHost}`)).status).toBe(404);
  expect((await ask('/', { headers: { authorization, host: 'rebound.example' } })).status).toBe(403);
  expect((await ask('/sign-in', { headers: { authorization } })).status).toBe(404);
});

describe.skipIf(chromiumPath === undefined)('in a browser', () => {
  test('people sign in, see the fleet, and sign out', async () => {
    const here = [`--host-resolver-rules=MAP console.example.org 127.0.0.1`, '--ignore-certificate-errors'];
    await using alice = await openBrowser(`https://${served.publicHost}/clusters/edge`, here);
    const { page } = alice;
    await takeScreenshots(page, 'sign-in');
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate(() =>
      (globalThis as unknown as { axe: typeof axe }).axe.run(),
    );
    expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
    await page.getByLabel('Token').fill('made-up');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Token').fill(tokens.alice);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: /well/ }).waitFor();
    expect(page.url()).toBe(`https://${served.publicHost}/`);
    await page.getByRole('link', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign out in this browser' }).click();
    await page.getByLabel('Token').waitFor();
    await page.goto(`https://${served.publicHost}/`);
    await page.getByLabel('Token').waitFor();
  });
});

test('no token is in any log', async () => {
  for (const { cli } of [served, behindProxy]) {
    cli.child.kill('SIGTERM');
    const { code, stdout, stderr } = await cli.result;
    expect([code, stderr]).toEqual([0, expect.stringContaining('system:serviceaccount:default:alice')]);
    for (const token of Object.values(tokens)) {
      const [, , signature = token] = token.split('.');
      expect(stdout + stderr).not.toContain(signature);
    }
  }
});
