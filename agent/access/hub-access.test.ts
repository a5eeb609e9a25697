import type { AccessBox } from '@rollcall/shared/protocol';
import type { Reply, ReplyResult } from '@rollcall/shared/protocol/reply';
import { accessFromKubeconfig } from '../../libs/shared/kubernetes/kubeconfig/kubeconfig.ts';
import { createXkey } from '@rollcall/shared/trust';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { RequestContent } from '../protocol/request-message.ts';
import { createHubAccess, type HubAccessOptions } from './hub-access.ts';
import { createLogLines } from '../log-lines.ts';

const hourMs = 3_600_000;

beforeEach(() => {
  vi.useFakeTimers();
  // How the agents of a fleet are spread is tested with the plan (hub-access-time.test.ts).
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** An agent's side of it, with a hub that a test plays. */
function aMember(more: Partial<HubAccessOptions> = {}) {
  const sealingKey = createXkey();
  const asked: RequestContent[] = [];
  const kept: { kubeconfig: string | undefined; writes: number } = { kubeconfig: undefined, writes: 0 };
  const logged: string[] = [];
  let isConnected = true;
  const access = createHubAccess({
    clusterId: 'c1',
    sealingKey,
    isKnown: false,
    longestMs: hourMs,
    store: {
      place: 'a test',
      write: async ({ kubeconfig }) => {
        kept.kubeconfig = kubeconfig;
        kept.writes++;
      },
      remove: async () => {
        kept.kubeconfig = undefined;
      },
    },
    onPhase: (phase) => logged.push(JSON.stringify(phase)),
    logger: createLogLines('debug', (line) => void logged.push(line)),
    signal: new AbortController().signal,
    send(content) {
      if (!isConnected) return undefined;
      asked.push(content);
      return `ask-${asked.length}`;
    },
    ...more,
  });
  const reply = (result: ReplyResult, inReplyTo = `ask-${asked.length}`, atMs = Date.now()): Reply => ({
    v: 1,
    hub: 'h',
    to: 'U1',
    inReplyTo,
    atMs,
    result,
  });
  return {
    asked,
    kept,
    logged,
    access,
    disconnect: () => (isConnected = false),
    reconnect() {
      isConnected = true;
      access.connected(0);
    },
    say: (result: ReplyResult) => access.learn(reply(result)),
    reply: (result: ReplyResult, inReplyTo?: string, atMs?: number) =>
      access.hear(reply(result, inReplyTo, atMs)),
    /** What the hub seals for the newest request. */
    sealed(box: Partial<AccessBox> = {}): ReplyResult {
      const hubKey = createXkey();
      const whole = {
        v: 1,
        requestId: `ask-${asked.length}`,
        clusterId: 'c1',
        namespace: 'one',
        server: 'https://hub:6443',
        token: `token-${asked.length}`,
        expiresAtMs: Date.now() + hourMs,
        ...box,
      };
      const plain = new TextEncoder().encode(JSON.stringify(whole));
      const bytes = hubKey.seal(plain, sealingKey.publicKey);
      return {
        kind: 'access',
        clusterId: 'c1',
        access: 'Namespace',
        sealed: { by: hubKey.publicKey, box: Buffer.from(bytes).toString('base64') },
      };
    },
    async tokenAfter(ms: number): Promise<string | undefined> {
      await vi.advanceTimersByTimeAsync(ms);
      if (kept.kubeconfig === undefined) return undefined;
      const read = accessFromKubeconfig([{ path: 'test', text: kept.kubeconfig }]);
      return read.token as string;
    },
  };
}

const may = (access: 'None' | 'Namespace'): ReplyResult => ({ kind: 'access', clusterId: 'c1', access });

test('given, it is a kubeconfig; renewed while the one before has a fifth of its life left', async () => {
  const member = aMember();
  member.say(may('Namespace'));
  expect(await member.tokenAfter(2000)).toBeUndefined();
  expect(member.asked).toHaveLength(1);
  member.reply(member.sealed());
  expect(await member.tokenAfter(0)).toBe('token-1');
  // Not yet …
  expect(await member.tokenAfter(0.59 * hourMs)).toBe('token-1');
  expect(member.asked).toHaveLength(1);
  // … but well before the end.
  await member.tokenAfter(0.22 * hourMs);
  expect(member.asked.length).toBeGreaterThan(1);
  member.reply(member.sealed());
  expect(await member.tokenAfter(0)).toBe(`token-${member.asked.length}`);
  expect(member.logged.join('\n')).not.toMatch(/token-\d/);
});

test('nothing is asked for without access, nor of an older hub that says nothing', async () => {
  const member = aMember();
  await member.tokenAfter(hourMs);
  member.say(may('None'));
  await member.tokenAfter(24 * hourMs);
  expect(member.asked).toEqual([]);
});

test.each<{ how: string; result: ReplyResult }>([
  { how: 'access is withdrawn', result: may('None') },
  {
    how: 'it is revoked',
    result: { kind: 'refused', code: 'CLUSTER_REVOKED', message: '', hint: '', retryAfterMs: 1 },
  },
  {
    how: 'it waits again',
    result: { kind: 'waiting', clusterId: 'c1', reason: '', message: '', retryAfterMs: 1 },
  },
])('$how: the kubeconfig goes, and nothing is asked for', async ({ result }) => {
  const member = aMember();
  member.say(may('Namespace'));
  await member.tokenAfter(2000);
  member.reply(member.sealed());
  expect(await member.tokenAfter(0)).toBe('token-1');
  member.say(result);
  expect(await member.tokenAfter(24 * hourMs)).toBeUndefined();
  expect(member.asked).toHaveLength(1);
});

test('trouble of the hub takes nothing away, and is asked about again', async () => {
  const member = aMember();
  member.say(may('Namespace'));
  await member.tokenAfter(2000);
  member.reply(member.sealed());
  await member.tokenAfter(0.81 * hourMs);
  member.reply({ kind: 'refused', code: 'HUB_BUSY', message: 'm', hint: 'h', retryAfterMs: 5000 });
  const before = member.asked.length;
  expect(await member.tokenAfter(600_000)).toBe('token-1');
  expect(member.asked.length).toBeGreaterThan(before);
});

test.each<{ what: string; box: Partial<AccessBox> }>([
  { what: 'an older reply', box: { requestId: 'ask-0' } },
  { what: 'that of another cluster', box: { clusterId: 'c2' } },
  { what: 'one without a token', box: { token: '' } },
])('a box is not taken for another: $what', async ({ box }) => {
  const member = aMember();
  member.say(may('Namespace'));
  await member.tokenAfter(2000);
  member.reply(member.sealed(box));
  expect(await member.tokenAfter(0)).toBeUndefined();
  expect(member.kept.writes).toBe(0);
});

test('what was sealed to somebody else, or is garbage, is nothing', async () => {
  const member = aMember();
  member.say(may('Namespace'));
  await member.tokenAfter(2000);
  const other = aMember();
  member.reply(other.sealed({ requestId: 'ask-1' }));
  member.reply({ ...may('Namespace'), sealed: { by: 'X', box: 'AAAA' } } as ReplyResult);
  expect(await member.tokenAfter(0)).toBeUndefined();
});

test('without a connection nothing is lost: it asks when there is one', async () => {
  const member = aMember();
  member.disconnect();
  member.say(may('Namespace'));
  await member.tokenAfter(hourMs);
  expect(member.asked).toEqual([]);
  member.reconnect();
  await member.tokenAfter(1);
  expect(member.asked).toHaveLength(1);
});

test('a member that was started again asks what it may have, once', async () => {
  const member = aMember({ isKnown: true });
  member.access.connected(0);
  await member.tokenAfter(1);
  expect(member.asked).toHaveLength(1);
  member.reply(may('None'));
  await member.tokenAfter(24 * hourMs);
  expect(member.asked).toHaveLength(1);
});

test('a box that was overtaken by the news that access is withdrawn is not written', async () => {
  const member = aMember();
  member.say(may('Namespace'));
  await member.tokenAfter(2000);
  const [late, madeAtMs] = [member.sealed(), Date.now()];
  await member.tokenAfter(10);
  member.say(may('None'));
  member.reply(late, 'ask-1', madeAtMs);
  expect(await member.tokenAfter(0)).toBeUndefined();
  expect(member.kept.writes).toBe(0);
});

test('a hub whose clock was set back is believed when it answers what was asked since', async () => {
  const member = aMember();
  member.say(may('Namespace'));
  await member.tokenAfter(2000);
  member.reply(member.sealed(), 'ask-1', Date.now() - hourMs);
  expect(await member.tokenAfter(0)).toBe('token-1');
});

test('leaving: what comes after is not written any more', async () => {
  const member = aMember();
  member.say(may('Namespace'));
  await member.tokenAfter(2000);
  const late = member.sealed();
  await member.access.stop();
  member.reply(late);
  expect(await member.tokenAfter(hourMs)).toBeUndefined();
});

test('back after a connection was lost, a member without access asks what was decided meanwhile, once', async () => {
  const { access, asked, reply, say, sealed, disconnect, reconnect, kept } = aMember();
  access.connected(0);
  say({ kind: 'access', clusterId: 'c1', access: 'None' });
  await vi.advanceTimersByTimeAsync(hourMs);
  expect(asked).toEqual([]);
  disconnect();
  reconnect();
  await vi.advanceTimersByTimeAsync(16_000);
  expect(asked).toMatchObject([{ verb: 'access' }]);
  reply({ kind: 'access', clusterId: 'c1', access: 'None' });
  await vi.advanceTimersByTimeAsync(hourMs);
  expect(asked).toHaveLength(1);
  disconnect();
  reconnect();
  await vi.advanceTimersByTimeAsync(16_000);
  reply(sealed());
  await vi.advanceTimersByTimeAsync(0);
  expect(kept.writes).toBe(1);
});

test('what could not be written is written once that can be; withdrawn meanwhile, it never is', async () => {
  let isAway = true;
  const written: (string | undefined)[] = [];
  const store = {
    place: 'a test',
    write: async ({ kubeconfig }: { kubeconfig: string }) => {
      if (isAway) throw new Error('the API server is away');
      written.push(kubeconfig);
    },
    remove: async () => void written.push(undefined),
  };
  const member = aMember({ store });
  member.say(may('Namespace'));
  await member.tokenAfter(2000);
  member.reply(member.sealed());
  await member.tokenAfter(30_000);
  expect(written).toEqual([]);
  isAway = false;
  await member.tokenAfter(60_000);
  expect(written).toEqual([expect.stringContaining('token-1')]);

  isAway = true;
  await member.tokenAfter(0.8 * hourMs);
  member.reply(member.sealed());
  await member.tokenAfter(1000);
  member.say(may('None'));
  isAway = false;
  await member.tokenAfter(hourMs);
  expect(written.slice(1)).toEqual([undefined]);
  await member.access.stop();
});
