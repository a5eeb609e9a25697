import { followEvents } from '@rollcall/shared/bus';
import {
  draft,
  publicationIdOf,
  type TokenDeclaration,
  tokenDeclared,
  tokenRecord,
  type TokenRecord,
  tokenUsed,
  tokenWithdrawn,
} from '@rollcall/shared/events';
import { type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { tokenIdOf } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serviceUser } from '../../../tests/harness/control-plane.ts';
import { aDeclaration } from '../../../tests/harness/events.ts';
import { bringPublicationAbout } from '../tokens/publish-token.ts';
import { type ProvisionerWorld, startWorld } from './provisioner-world.ts';

const namespace = 'rollcall-join';
const trace = { correlation: 'test' };
let world: ProvisionerWorld;
let provisioner: AsyncDisposable;

beforeAll(async () => {
  world = await startWorld();
  const data = { hubId: 'h'.repeat(16), addresses: 'a:1,b:2', caBundle: 'PEM', caCertHash: 'sha256:00' };
  await world.plane.admin.create(resources.configMaps, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'rollcall-hub', namespace: 'rollcall-system' },
    data,
  } as KubeObject);
  provisioner = await world.startProvisioner();
});
afterAll(async () => {
  await provisioner?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
});

const secretOf = (name: string) => world.plane.admin.get<KubeObject>(resources.secrets, { name, namespace });
const read = async (id: string) => {
  const log = await world.hub.openLog('approver');
  return tokenRecord(await log.read({ kind: 'token', id }));
};

/** Says as the approver that a person wants the hub to make a token; its uid is the given one. */
async function ask(name: string, more: Partial<TokenDeclaration> = {}): Promise<TokenDeclaration> {
  const log = await world.hub.openLog('approver');
  const publicationId = publicationIdOf(name);
  const { publicKey: _none, ...section } = aDeclaration({
    name,
    uid: name,
    namespace,
    publicationId,
    ...more,
  });
  const record = await log.read({ kind: 'token', id: publicationId });
  await log.append([draft(tokenDeclared, record, { reason: 'R', message: 'm', section })], trace);
  return section;
}

/** The record on which a token was asked for, once the provisioner has written that of it. */
async function told(name: string, type: string): Promise<TokenRecord> {
  const log = await world.hub.openLog('approver');
  const stop = new AbortController();
  const filter = `token.${publicationIdOf(name)}.*`;
  const nc = await world.hub.connectAs('inspector');
  try {
    for await (const event of followEvents(nc, log, { filter, fromSequence: 1, signal: stop.signal })) {
      if (event.type === type) return await read(publicationIdOf(name));
    }
  } finally {
    stop.abort();
  }
  throw new Error('the bus was closed');
}

test('a token is made, told by its public half, and gone with its last use', async () => {
  const declaration = await ask('used-up', { uses: 2 });
  const { publication } = await told('used-up', 'published');
  const secret = await secretOf('used-up');
  expect(publication).toMatchObject({ state: 'published', secretUid: secret?.metadata.uid });
  expect(secret).toMatchObject({ type: 'Opaque', data: { values: expect.any(String) } });

  const publicKey = publication?.publicKey ?? '';
  const approver = await world.hub.openLog('approver');
  const registrar = await world.hub.openLog('registrar');
  const id = tokenIdOf(publicKey);
  const ofKey = await approver.read({ kind: 'token', id });
  const section = { ...declaration, publicKey };
  await approver.append([draft(tokenDeclared, ofKey, { reason: 'R', message: 'm', section })], trace);
  for (const used of [1, 2]) {
    const record = await registrar.read({ kind: 'token', id });
    const uses = { used, lastUsedBy: 'c', lastUsedAtMs: Date.now() };
    await registrar.append([draft(tokenUsed, record, { reason: 'R', message: 'm', section: uses })], trace);
    await world.settled();
    expect((await secretOf('used-up')) === undefined).toBe(used === 2);
  }
});

test('what the Secret hands out follows the token when that is changed; the token in it stays', async () => {
  await ask('edited', { clusterName: 'old' });
  await told('edited', 'published');
  const wordsIn = async () => {
    const secret = (await secretOf('edited')) as (KubeObject & { data?: Record<string, string> }) | undefined;
    const text = (key: string) => Buffer.from(secret?.data?.[key] ?? '', 'base64').toString('utf8');
    return { values: text('values'), command: text('command') };
  };
  const before = await wordsIn();
  expect(before.values).toContain('clusterName: old');
  await ask('edited', { clusterName: 'new', clientId: 'shop 7' });
  await expect.poll(async () => (await wordsIn()).values, { timeout: 30_000 }).toContain('clusterName: new');
  const after = await wordsIn();
  expect(after.command).toContain("--cluster-name new --client-id 'shop 7'");
  expect(/rc1\S+/.exec(after.values)?.[0]).toBe(/rc1\S+/.exec(before.values)?.[0]);
});

test('a Secret that somebody deletes is told of once, is not made again, and a token that ends by itself tells nothing', async () => {
  await ask('unwanted', { expiresAtMs: Date.now() + 600_000 });
  await ask('ending', { expiresAtMs: Date.now() + 1500 });
  const before = (await told('unwanted', 'published')).publication;
  await world.plane.admin.delete(resources.secrets, 'unwanted', { namespace });
  const { publication, lastOf } = await told('unwanted', 'unpublished');
  expect(publication).toEqual({ ...before, secretGoneAtMs: expect.any(Number) });
  expect(lastOf['rbac-provisioner']).toMatchObject({
    reason: 'SecretGone',
    message: expect.stringContaining('Secret "rollcall-join/unwanted"'),
  });
  // Neither when the token is changed, nor by the next looks.
  await ask('unwanted', { clusterName: 'changed', expiresAtMs: Date.now() + 600_000 });
  await world.settled();
  await ask('later-look', { expiresAtMs: Date.now() + 500 });
  await told('later-look', 'published');
  await expect.poll(() => secretOf('later-look'), { timeout: 30_000 }).toBeUndefined();
  await expect.poll(() => secretOf('ending'), { timeout: 30_000 }).toBeUndefined();
  expect(await secretOf('unwanted')).toBeUndefined();
  const types = async (name: string) => {
    const log = await world.hub.openLog('approver');
    const all: string[] = [];
    for await (const { type } of log.scan({ filter: `token.${publicationIdOf(name)}.*` })) all.push(type);
    return all;
  };
  expect(await types('unwanted')).toEqual(['declared', 'published', 'unpublished', 'declared']);
  expect(await types('ending')).toEqual(['declared', 'published']);
});

test('a token that expires loses its Secret although nothing happens', async () => {
  await ask('expiring', { expiresAtMs: Date.now() + 1500 });
  await told('expiring', 'published');
  await expect.poll(() => secretOf('expiring'), { timeout: 30_000 }).toBeUndefined();
});

test('a token with a mistake for a while loses its Secret all the same when it ends', async () => {
  await ask('mistaken', { expiresAtMs: Date.now() + 600_000 });
  await told('mistaken', 'published');
  await ask('mistaken', { withdrawn: true, problem: { reason: 'InvalidTtl', message: 'm' } });
  // Whoever has removed this one has looked at the other one with its mistake.
  await ask('later', { expiresAtMs: Date.now() + 500 });
  await told('later', 'published');
  await expect.poll(() => secretOf('later'), { timeout: 30_000 }).toBeUndefined();
  expect(await secretOf('mistaken')).toBeDefined();
  await ask('mistaken', { expiresAtMs: Date.now() + 500 });
  await expect.poll(() => secretOf('mistaken'), { timeout: 30_000 }).toBeUndefined();
});

test('a Secret of somebody else is never touched, and the token says so', async () => {
  const metadata = { name: 'foreign', namespace };
  const own = { apiVersion: 'v1', kind: 'Secret', metadata, data: { mine: 'bWluZQ==' } } as KubeObject;
  const { metadata: before } = await world.plane.admin.create(resources.secrets, own);
  const section = await ask('foreign');
  const { publication, head } = await told('foreign', 'publishing-failed');
  expect(publication).toMatchObject({ state: 'failed', error: { code: 'SECRET_TAKEN' } });
  const log = await world.hub.openLog('approver');
  const gone = { ...section, withdrawn: true };
  const record = { aggregate: { kind: 'token', id: publicationIdOf('foreign') }, head } as const;
  await log.append([draft(tokenWithdrawn, record, { reason: 'R', message: 'm', section: gone })], trace);
  await world.settled();
  expect((await secretOf('foreign'))?.metadata).toMatchObject({ resourceVersion: before.resourceVersion });
});

test('a token elsewhere than in a join namespace is not made, and says so', async () => {
  await ask('elsewhere', { namespace: 'default' });
  const { publication } = await told('elsewhere', 'publishing-failed');
  expect(publication?.error?.code).toBe('KUBE_API');
  expect(publication?.error?.message).toContain(
    'no Secret in namespace "default": make the token in rollcall-join',
  );
});

test('the Secret of an earlier token of the same name makes room for the new one', async () => {
  await ask('old', { name: 'again' });
  const before = (await told('old', 'published')).publication;
  // Deleted and made anew before the hub came to it.
  await ask('new', { name: 'again' });
  const after = (await told('new', 'published')).publication;
  expect(after?.publicKey).not.toBe(before?.publicKey);
  expect((await secretOf('again'))?.metadata.uid).toBe(after?.secretUid);
});

test('two replicas at once, and one that died before it told, make one Secret and one event', async () => {
  const kube = world.plane.clientFor(serviceUser('rbac-provisioner'));
  await provisioner[Symbol.asyncDispose]();
  const log = await world.hub.openLog('rbac-provisioner');
  const replica = { log, kube, nowMs: Date.now };
  await ask('twins');
  const id = publicationIdOf('twins');
  const drafts = await Promise.all([1, 2].map(() => bringPublicationAbout(replica, id, trace)));
  expect(drafts.flat()).toHaveLength(1);

  await ask('died');
  const mute = { ...log, append: () => Promise.reject(new Error('killed')) };
  await expect(
    bringPublicationAbout({ ...replica, log: mute }, publicationIdOf('died'), trace),
  ).rejects.toThrow('killed');
  const made = await secretOf('died');
  const [after] = await bringPublicationAbout(replica, publicationIdOf('died'), trace);
  expect(after?.section).toMatchObject({ secretUid: made?.metadata.uid });
  expect((await secretOf('died'))?.metadata.resourceVersion).toBe(made?.metadata.resourceVersion);
  kube.close();
  provisioner = await world.startProvisioner();
});
