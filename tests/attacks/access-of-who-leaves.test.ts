import { resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type ProvisionerWorld,
  startWorld,
} from '../../services/rbac-provisioner/tests/provisioner-world.ts';

/**
 * What is left of clusters that leave is taken away slowly while others join, in the order in which they left. Whoever had a token for
 * many clusters let some leave, and others join without end: the access of a member that a person deleted waited behind them.
 */
let world: ProvisionerWorld;
let provisioner: AsyncDisposable;
beforeAll(async () => {
  world = await startWorld();
  provisioner = await world.startProvisioner();
});
afterAll(async () => {
  await provisioner?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
});

const left = Array.from({ length: 20 }, (_, at) => `left-${at}`);

/** As the approver does it: each leaving that takes a key back ends in `revoked`. */
async function leave(name: string): Promise<void> {
  const revokedKeys = [{ key: 'K1', atMs: Date.now(), left: true }];
  await world.say('leaving', name, { revokedKeys });
  await world.say('revoked', name, { verdict: 'leaving', revokedKeys });
}

test('a member that a person deletes has no access any more, whoever leaves before it and joins meanwhile', async () => {
  await world.say('approved', 'bad', { approvedKey: 'K1' });
  await world.told('bad', 'provisioned');
  let joined = 0;
  const joinsOn = setInterval(() => void world.say('approved', `joins-${joined++}`, { access: 'None' }), 500);
  try {
    await world.say('approved', 'joins', { access: 'None' });
    for (const name of left) await leave(name);
    await leave('bad');
    const binding = { name: 'rollcall-member', namespace: 'bad' };
    const account = async () => [
      await world.plane.admin.get(resources.roleBindings, binding),
      await world.plane.admin.get(resources.serviceAccounts, binding),
    ];
    await expect.poll(account, { timeout: 10_000 }).toEqual([undefined, undefined]);
  } finally {
    clearInterval(joinsOn);
  }
}, 60_000);
