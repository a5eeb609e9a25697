import { afterAll, beforeAll, expect, test } from 'vitest';
import { RollcallError } from '@rollcall/shared/errors';
import type { StoredEvent } from '@rollcall/shared/events';
import { type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { reconcileAccess } from '../access/reconcile-access.ts';
import { type ProvisionerWorld, startWorld } from './provisioner-world.ts';
import { serviceUser } from '../../../tests/harness/control-plane.ts';

let world: ProvisionerWorld;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());

/** A replica of the provisioner, by hand. */
async function aReplica() {
  const log = await world.hub.openLog('rbac-provisioner');
  const kube = world.plane.clientFor(serviceUser('rbac-provisioner'));
  return { log, kube, reservedNames: [], nowMs: Date.now };
}
type Replica = Awaited<ReturnType<typeof aReplica>>;

async function newestOf({ log }: Replica, id: string): Promise<StoredEvent> {
  const { newest } = await log.read({ kind: 'cluster', id });
  if (!newest) throw new Error('the event was appended');
  return newest;
}

/** Nothing follows any more in a process that was killed: it neither hears an answer nor tries again. */
async function killedBeforeItTells(replica: Replica, event: StoredEvent): Promise<void> {
  const isKilled = Promise.withResolvers<void>();
  const append = () => {
    isKilled.resolve();
    return new Promise<never>(() => undefined);
  };
  const killed = reconcileAccess({ ...replica, log: { ...replica.log, append } }, event);
  await Promise.race([isKilled.promise, killed]);
}

const bindingOf = (namespace: string) =>
  world.plane.admin.get<KubeObject>(resources.roleBindings, { name: 'rollcall-member', namespace });

test('one event handled by two replicas at once makes one account, and it is the one that is told of', async () => {
  const names = Array.from({ length: 10 }, (_, index) => `twin-${index}`);
  const first = await aReplica();
  const replicas = [first, await aReplica()];
  for (const name of names) await world.say('approved', name);
  await Promise.all(
    names.map(async (name) => {
      const event = await newestOf(first, name);
      await Promise.all(replicas.map((replica) => reconcileAccess(replica, event)));
    }),
  );
  for (const name of names) {
    expect(await world.count(name, 'provisioning-failed')).toBe(0);
    const where = { name: 'rollcall-member', namespace: name };
    const account = await world.plane.admin.get<KubeObject>(resources.serviceAccounts, where);
    const { lastOf } = await first.log.read({ kind: 'cluster', id: name });
    expect(lastOf['rbac-provisioner']?.section).toMatchObject({
      uids: { serviceAccount: account?.metadata.uid, roleBinding: (await bindingOf(name))?.metadata.uid },
    });
  }
});

test('a join costs three writes, also when others write to its record meanwhile', async () => {
  const replica = await aReplica();
  const { log, kube } = replica;
  await world.say('approved', 'cheap');
  const newest = await newestOf(replica, 'cheap');
  let writes = 0;
  const counting: typeof kube = {
    ...kube,
    create(resource, object, how) {
      writes++;
      return kube.create(resource, object, how);
    },
  };
  let appends = 0;
  const contended: typeof log = {
    ...log,
    append: async (drafts, trace) => {
      if (++appends === 1) await world.say('approved', 'cheap');
      await log.append(drafts, trace);
    },
  };
  await reconcileAccess({ ...replica, log: contended, kube: counting }, newest);
  expect({ appends, writes }).toEqual({ appends: 2, writes: 3 });
  expect(await world.count('cheap', 'provisioned')).toBe(1);
});

test('who leaves is cleared up after once, also when others write to its record meanwhile', async () => {
  const replica = await aReplica();
  const { log, kube } = replica;
  await world.say('approved', 'leaver');
  await reconcileAccess(replica, await newestOf(replica, 'leaver'));
  const leave = () => world.say('leaving', 'leaver', { decidedAtMs: 1, namespacePolicy: 'Delete' });
  await leave();
  let reads = 0;
  const counting: typeof kube = {
    ...kube,
    get(resource, where) {
      reads++;
      return kube.get(resource, where);
    },
  };
  let appends = 0;
  const contended: typeof log = {
    ...log,
    append: async (drafts, trace) => {
      if (++appends === 1) await leave();
      await log.append(drafts, trace);
    },
  };
  await reconcileAccess({ ...replica, log: contended, kube: counting }, await newestOf(replica, 'leaver'));
  expect({ appends, reads }).toEqual({ appends: 2, reads: 3 });
  expect(await world.count('leaver', 'deprovisioned')).toBe(1);
});

test('what was made while the approval was taken back is undone', async () => {
  const replica = await aReplica();
  const { log } = replica;
  await world.say('approved', 'late');
  const newest = await newestOf(replica, 'late');
  let isRevoked = false;
  const slow: typeof log = {
    ...log,
    append: async (drafts, trace) => {
      if (!isRevoked) {
        isRevoked = true;
        await world.say('denied', 'late');
      }
      await log.append(drafts, trace);
    },
  };
  await reconcileAccess({ ...replica, log: slow }, newest);
  expect(await bindingOf('late')).toBeUndefined();
  expect(await world.count('late', 'provisioned')).toBe(0);
});

test('what a killed replica left behind is removed when its event comes again', async () => {
  const replica = await aReplica();
  await world.say('approved', 'orphan');
  const newest = await newestOf(replica, 'orphan');
  await killedBeforeItTells(replica, newest);
  expect(await bindingOf('orphan')).toBeDefined();
  await world.say('denied', 'orphan');
  await reconcileAccess(replica, newest);
  expect(await bindingOf('orphan')).toBeUndefined();
});

test('a replica that was stopped while it took rights away gives them back to a cluster that has joined anew', async () => {
  const other = await aReplica();
  const { kube } = other;
  const newest = () => newestOf(other, 'anew');
  await world.say('approved', 'anew');
  await reconcileAccess(other, await newest());
  await world.say('leaving', 'anew', { namespacePolicy: 'Keep' });
  const leaving = await newest();
  let deletes = 0;
  let joining: Promise<unknown> | undefined;
  async function joinAnew(): Promise<void> {
    await world.say('approved', 'anew', { requestId: 'R2', key: 'K2', approvedKey: 'K2' });
    await reconcileAccess(other, await newest());
  }
  const stopped: typeof kube = {
    ...kube,
    async get(resource, where) {
      // Its second attempt, in which it has nothing to tell any more.
      if (deletes > 0) await (joining ??= joinAnew());
      return kube.get(resource, where);
    },
    async delete(resource, name, options) {
      if (++deletes > 1) return kube.delete(resource, name, options);
      await reconcileAccess(other, leaving);
      throw new RollcallError('KUBE_UNREACHABLE', 'no answer');
    },
  };
  await reconcileAccess({ ...other, kube: stopped }, leaving);
  expect(deletes).toBe(4);
  expect(await bindingOf('anew')).toBeDefined();
});

test('who leaves takes nothing of the next cluster of its name along: seed 4010770', async () => {
  const replica = await aReplica();
  const { kube } = replica;
  await world.say('approved', 'renamed');
  await reconcileAccess(replica, await newestOf(replica, 'renamed'));
  await world.say('leaving', 'renamed', { namespacePolicy: 'Keep' });
  let ofNext: KubeObject | undefined;
  const late: typeof kube = {
    ...kube,
    async delete(resource, name, options) {
      if (resource === resources.roleBindings) {
        const former = await bindingOf('renamed');
        await world.plane.admin.delete(resource, name, { namespace: 'renamed' });
        const { metadata, ...rest } = former as KubeObject;
        const { labels = {} } = metadata;
        ofNext = await world.plane.admin.create(resource, {
          ...rest,
          metadata: { name, namespace: 'renamed', labels },
        });
      }
      return kube.delete(resource, name, options);
    },
  };
  await reconcileAccess({ ...replica, kube: late }, await newestOf(replica, 'renamed'));
  expect(ofNext).toBeDefined();
  expect((await bindingOf('renamed'))?.metadata.uid).toBe(ofNext?.metadata.uid);
});

test('an account that a killed replica left behind goes when its event comes again and access is no more', async () => {
  const replica = await aReplica();
  await world.say('approved', 'untold');
  const newest = await newestOf(replica, 'untold');
  await killedBeforeItTells(replica, newest);
  expect(await bindingOf('untold')).toBeDefined();
  await world.say('approved', 'untold', { access: 'None' });
  await reconcileAccess(replica, newest);
  expect(await bindingOf('untold')).toBeUndefined();
  expect(await world.count('untold', 'provisioned')).toBe(1);
});

test('an account that was made while access was taken away is taken away again', async () => {
  const other = await aReplica();
  const { log, kube } = other;
  await world.say('approved', 'withdrawn');
  const newest = await newestOf(other, 'withdrawn');
  let isWithdrawn = false;
  const slow: typeof kube = {
    ...kube,
    async create(resource, object, how) {
      if (!isWithdrawn && object.kind === 'RoleBinding') {
        isWithdrawn = true;
        await world.say('approved', 'withdrawn', { access: 'None' });
        await reconcileAccess(other, await newestOf(other, 'withdrawn'));
      }
      return kube.create(resource, object, how);
    },
  };
  await reconcileAccess({ ...other, kube: slow }, newest);
  expect(await bindingOf('withdrawn')).toBeUndefined();
  const { lastOf } = await log.read({ kind: 'cluster', id: 'withdrawn' });
  expect(lastOf['rbac-provisioner']?.section).not.toHaveProperty('serviceAccount');
});

test('a refusal by the API server is told once and leaves nothing in the queue', async () => {
  await using provisioner = await world.startProvisioner('system:serviceaccount:rollcall-system:nobody');
  expect(provisioner).toBeDefined();
  await world.say('approved', 'refused');
  const { lastOf } = await world.told('refused', 'provisioning-failed');
  expect(lastOf['rbac-provisioner']).toMatchObject({ reason: 'Refused' });
  expect(lastOf['rbac-provisioner']?.message).toContain('nobody');
});
