import { createKubeClient, type KubeAccess, type TokenSource } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeMemberAccount } from '../../../cli/join/member-account.ts';
import { startTestControlPlane, type TestControlPlane } from '../../../tests/harness/control-plane.ts';
import { memberClientOptions } from '../hosted-agent.ts';
import { readMemberKubeconfig } from '../judge-kubeconfig.ts';
import { createAddressJudge } from '../refused-address.ts';
import { secretTokenStore, withRenewedToken } from '../renewed-token.ts';
import { tryMember } from '../try-member.ts';

/** Is the member and, as far as a Secret is concerned, the hub. */
let plane: TestControlPlane;
let access: KubeAccess & { token: string };
let nowMs = Date.now();
const troubles: unknown[] = [];
const place = { namespace: 'rollcall-agent', name: 'kept-token' };
const minuteMs = 60_000;
const dayMs = 1440 * minuteMs;

beforeAll(async () => {
  plane = await startTestControlPlane({ withManifests: false });
  const kubeconfig = await makeMemberAccount(plane.admin, 'Push');
  const judge = createAddressJudge({ allowLoopback: true, hub: [], refusedRanges: [] });
  const { token, ...rest } = readMemberKubeconfig(kubeconfig, judge);
  access = { ...rest, token: String(token) };
});
afterAll(() => plane?.[Symbol.asyncDispose]());

const storeFor = (first: string) => secretTokenStore(plane.admin, { ...place, first });

async function open(
  from: KubeAccess & { token: string },
  store = storeFor(from.token),
): Promise<{ renewed: KubeAccess; token(): Promise<string> }> {
  const { userAgent } = memberClientOptions;
  const onTrouble = (error: unknown) => troubles.push(error);
  const renewed = await withRenewedToken(from, { store, userAgent, nowMs: () => nowMs, onTrouble });
  return { renewed, token: async () => (renewed.token as TokenSource)() };
}

test('a token is renewed after a third of its life; the new one is kept, and the member takes it', async () => {
  const { renewed, token } = await open(access);
  nowMs += 2 * dayMs;
  expect(await token()).toBe(access.token);
  expect(await storeFor(access.token).load()).toBeUndefined();
  nowMs += dayMs / 2;
  await expect.poll(token).not.toBe(access.token);
  expect(troubles).toEqual([]);
  expect(await storeFor(access.token).load()).toBe(await token());
  const client = createKubeClient(renewed, memberClientOptions);
  await tryMember(client, { clusterId: 'a-member', clientId: 'a-member' });
  client.close();
});

test('a host that starts again goes on with the kept one, until the kubeconfig has another', async () => {
  const kept = await storeFor(access.token).load();
  expect(kept).toBeDefined();
  expect(await (await open(access)).token()).toBe(kept);
  const other = { ...access, token: String(kept) };
  expect(await storeFor(other.token).load()).toBeUndefined();
  expect(await (await open(other)).token()).toBe(other.token);
});

test('while the member does not renew it the token is used as it is, and asked for once a minute', async () => {
  const unreachable = { ...access, server: 'https://127.0.0.1:1' };
  const store = { load: async () => undefined, save: async () => undefined };
  const { token } = await open(unreachable, store);
  nowMs += dayMs;
  expect(await token()).toBe(access.token);
  await expect.poll(() => troubles.length).toBe(1);
  nowMs += minuteMs;
  expect(await token()).toBe(access.token);
  nowMs += 1;
  expect(await token()).toBe(access.token);
  await expect.poll(() => troubles.length).toBe(2);
});

test('a try of a clock that was a year ahead keeps none from being made once it is right', async () => {
  const unreachable = { ...access, server: 'https://127.0.0.1:1' };
  const { token } = await open(unreachable, { load: async () => undefined, save: async () => undefined });
  const [rightMs, before] = [nowMs, troubles.length];
  nowMs += 365 * dayMs;
  await token();
  nowMs = rightMs;
  await token();
  await expect.poll(() => troubles.length).toBe(before + 2);
});

test('what is no token of an account is left as it is', async () => {
  const opaque = { ...access, token: 'opaque' };
  expect((await open(opaque)).renewed).toBe(opaque);
});
