import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { linkReplyKeys, type SignedLink } from '@rollcall/shared/protocol';
import { type HubCas, signHubCas } from '@rollcall/shared/protocol/hub-cas';
import { createCa, createNkey } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startStolenHub, type StolenHub } from './stolen-registrar.ts';

let stolen: StolenHub;
let hub: StolenHub['hub'];
beforeAll(async () => {
  stolen = await startStolenHub();
  ({ hub } = stolen);
});
afterAll(() => stolen[Symbol.asyncDispose]());

const validForDays = 1;
const aCa = () => createCa({ commonName: 'CA', validForDays, nowMs: Date.now() });
const caOfThief = aCa();
const sign = (caPem: string, caKeyPem: string, atMs = Date.now()) =>
  signHubCas({ hub: hub.hub.hubId, caPem, atMs }, caKeyPem);
const hubCaKey = () => readFileSync(join(hub.stateDir, 'nats', 'ca-key.pem'), 'utf8');

test.each<{ name: string; said: () => unknown }>([
  { name: 'as a text', said: () => caOfThief.certificatePem },
  { name: 'signed by itself', said: () => sign(caOfThief.certificatePem, caOfThief.privateKeyPem) },
  {
    name: 'in the place of what the hub’s CA has signed',
    said: () => ({ ...sign(hub.address.caPem, hubCaKey()), signed: caOfThief.certificatePem }),
  },
  {
    name: 'as said of another hub',
    said: () => signHubCas({ hub: 'another', caPem: caOfThief.certificatePem, atMs: Date.now() }, hubCaKey()),
  },
  {
    name: 'which the hub’s CA has named, and its server does not show',
    said: () => sign(caOfThief.certificatePem, hubCaKey()),
  },
])('no answer makes another CA the hub’s: $name', async ({ said }) => {
  await using member = await stolen.aMember(`told-${performance.now().toFixed(0)}`);
  await member.hears({ hubCas: said() as HubCas });
  await using again = await member.runAgain();
  await again.heard.next(({ phase }) => phase === 'ready');
  expect((await member.kept()).hubCaPem).toBe(hub.address.caPem);
});

const successor = createNkey('account');
const linkBy = (caKeyPem: string) =>
  linkReplyKeys(
    {
      hub: hub.hub.hubId,
      replyKey: stolen.replyKey(),
      nextReplyKey: successor.publicKey,
      atMs: Date.now(),
    },
    caKeyPem,
  );

test.each<{ name: string; link: () => SignedLink }>([
  {
    name: 'by the reply key alone',
    link() {
      const { caSignature: _none, ...link } = linkBy(hubCaKey());
      return link;
    },
  },
  { name: 'with the signature of another CA', link: () => linkBy(caOfThief.privateKeyPem) },
])('no answer makes another reply key the hub’s: named $name', async ({ link }) => {
  await using member = await stolen.aMember(`linked-${performance.now().toFixed(0)}`);
  const { replyKey: before } = await member.kept();
  await member.isNamed(successor, link());
  await member.hears({});
  expect((await member.kept()).replyKey).toBe(before);
});

test('a reply key that the CA has signed as well is the hub’s from then on', async () => {
  await using member = await stolen.aMember('linked-true');
  await member.isNamed(successor, linkBy(hubCaKey()));
  await expect.poll(async () => (await member.kept()).replyKey).toBe(successor.publicKey);
});

test('a CA that the hub’s own has named is known from then on, beside it, and no earlier word takes it back', async () => {
  await using member = await stolen.aMember('told-true');
  const both = hub.address.caPem + aCa().certificatePem;
  const atMs = Date.now();
  await member.hears({ hubCas: sign(both, hubCaKey(), atMs) });
  await expect.poll(async () => (await member.kept()).hubCaPem).toBe(both);
  await member.hears({ hubCas: sign(hub.address.caPem, hubCaKey(), atMs - 1) });
  await using again = await member.runAgain();
  await again.heard.next(({ phase }) => phase === 'ready');
  expect((await member.kept()).hubCaPem).toBe(both);
});

test('addresses where the hub is not found come after those of before', async () => {
  let asked = 0;
  const stranger = createServer((socket) => {
    asked++;
    socket.on('error', () => undefined).destroy();
  });
  await once(stranger.listen(0, '127.0.0.1'), 'listening');
  await using member = await stolen.aMember('told-addresses');
  const hubAddresses = [`127.0.0.1:${(stranger.address() as AddressInfo).port}`];
  await member.hears({ hubAddresses });
  await expect.poll(() => asked).toBeGreaterThan(0);
  await expect.poll(member.kept).toMatchObject({ hubAddresses, hubAddressesReached: [] });
  const before = asked;
  await using again = await member.runAgain();
  await again.heard.next(({ phase }) => phase === 'ready');
  expect(asked).toBe(before);
  stranger.close();
});
