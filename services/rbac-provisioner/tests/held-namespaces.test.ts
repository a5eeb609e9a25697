import { type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../../tests/harness/embedded.ts';
import { type ProvisionerWorld, startWorld } from './provisioner-world.ts';

let world: ProvisionerWorld;
let provisioner: AsyncDisposable;
beforeAll(async () => {
  world = await startWorld({ ownPlane: true });
  provisioner = await world.startProvisioner();
});
afterAll(async () => {
  await provisioner?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
});

const namespaceOf = (name: string) => world.plane.admin.get<KubeObject>(resources.namespaces, { name });
const namesOf = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, at) => `${prefix}-${at}`);

async function joined(...names: string[]): Promise<void> {
  for (const name of names) await world.say('approved', name);
  for (const name of names) await world.told(name, 'provisioned');
}

/** They leave, and their namespaces stay: without a controller manager nobody takes the finalizer `kubernetes` off. */
async function left(...names: string[]): Promise<void> {
  for (const name of names) await world.say('leaving', name);
  for (const name of names) await world.told(name, 'deprovisioned');
  for (const name of names) expect((await namespaceOf(name))?.metadata.deletionTimestamp).toBeDefined();
}

/** What the namespace controller does once it is empty. */
async function letGo(name: string): Promise<void> {
  const held = await namespaceOf(name);
  const finalize = { ...held, spec: { finalizers: [] } } as KubeObject;
  await world.plane.admin.replace(resources.namespaces, finalize, { subresource: 'finalize' });
}

async function isProvisionedFor(id: string, requestId: string): Promise<boolean> {
  const log = await world.hub.openLog('rbac-provisioner');
  const { lastOf } = await log.read({ kind: 'cluster', id });
  const section = lastOf['rbac-provisioner']?.section as { state?: string; requestId?: string } | undefined;
  return section?.state === 'provisioned' && section.requestId === requestId;
}
const isBack = (id: string) => isProvisionedFor(id, 'R2');

test('1,100 clusters whose namespaces are held keep nobody from being provisioned, and nothing in the consumer', async () => {
  await joined('held', 'returns');
  await left('held', 'returns');
  await world.say('approved', 'returns', { requestId: 'R2' });
  const waiting = namesOf('waits', 1100);
  await Promise.all(waiting.map((id) => world.say('approved', 'held', { id, requestId: 'R2' })));
  await world.say('approved', 'new', { requestId: 'R2' });
  await until('the new one is provisioned', () => isBack('new'));
  await world.settled();
  expect(await isBack('returns')).toBe(false);
  await letGo('returns');
  await until('the held one is provisioned', () => isBack('returns'));
  await letGo('held');
  // The name is one cluster's; the others are told.
  const isEachTold = async () => {
    const log = await world.hub.openLog('rbac-provisioner');
    const told = [
      ...(await log.readAll('cluster.*.provisioned')),
      ...(await log.readAll('cluster.*.provisioning-failed')),
    ];
    return told.filter(({ id }) => id.startsWith('waits-')).length === waiting.length;
  };
  await until('each has its answer', isEachTold, { withinMs: 180_000 });
});

test('a service that starts anew knows whom it has to wait for, and whom it had', async () => {
  const names = ['held-on', 'gone-meanwhile', 'taken-over'];
  await joined(...names);
  await left(...names);
  for (const name of names.slice(0, 2)) await world.say('approved', name, { requestId: 'R2' });
  await world.say('approved', 'taken-over', { id: 'heir', requestId: 'R2' });
  await world.settled();
  await provisioner[Symbol.asyncDispose]();
  await letGo('gone-meanwhile');
  provisioner = await world.startProvisioner();
  await until('what is free is made', () => isBack('gone-meanwhile'));
  expect(await isBack('held-on')).toBe(false);
  await letGo('held-on');
  await letGo('taken-over');
  await until('the held one is provisioned', () => isBack('held-on'));
  await until('so is who took the name over', () => isBack('heir'));
});

test('what a replica had put aside that is gone is known to the other, also where another cluster takes the name', async () => {
  const other = await world.startProvisioner();
  const names = namesOf('name', 6);
  await joined(...names);
  await left(...names);
  for (const name of names) await world.say('approved', name, { id: `${name}-heir`, requestId: 'R2' });
  await world.settled();
  await provisioner[Symbol.asyncDispose]();
  provisioner = other;
  for (const name of names) await letGo(name);
  const areBack = () => Promise.all(names.map((name) => isBack(`${name}-heir`)));
  await until('each has its namespace', async () => (await areBack()).every(Boolean));
  expect(await areBack()).not.toContain(false);
});

test('who leaves again while its namespace is held gets nothing when that is gone', async () => {
  await joined('leaves-again');
  await left('leaves-again');
  await world.say('approved', 'leaves-again', { requestId: 'R2' });
  await world.settled();
  await world.say('leaving', 'leaves-again', { requestId: 'R2' });
  await world.told('leaves-again', 'deprovisioned');
  await letGo('leaves-again');
  await joined('later');
  expect(await namespaceOf('leaves-again')).toBeUndefined();
});
