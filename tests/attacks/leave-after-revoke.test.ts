import * as accountController from '@rollcall/account-controller';
import * as provisioner from '@rollcall/rbac-provisioner';
import * as registrar from '@rollcall/registrar';
import { clusterIdOf } from '@rollcall/shared/events';
import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { apiVersion } from '@rollcall/shared/resources';
import type { RunningService } from '@rollcall/shared/service';
import { createNkey, keyFingerprint, type Nkey, tokenIdOf } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApproverWorld, startWorld } from '../../services/approver/tests/approver-world.ts';
import { bindRole, serviceUser } from '../harness/control-plane.ts';
import {
  connectWithCredentials,
  connectWithKey,
  connectWithToken,
  type RawAgent,
} from '../harness/raw-agent.ts';

/**
 * A member that a person revoked unmade its revocation: by its own key, over the callout, it asks to leave, and comes back
 * with another key and a token of the fleet as a new cluster, which a policy lets in; without the leaving a person would have to say yes.
 */
const person = 'anna@example.com';
let world: ApproverWorld;
let anna: KubeClient;
const running: RunningService[] = [];
const token = createNkey('user');
beforeAll(async () => {
  world = await startWorld();
  const { hub, plane } = world;
  await bindRole(plane.admin, person, 'rollcall-admin');
  anna = plane.clientFor(person);
  await world.startApprover();
  running.push(await registrar.start(registrar.configSchema.parse(hub.serviceSettings('registrar'))));
  running.push(
    await accountController.start(
      accountController.configSchema.parse({
        ...hub.serviceSettings('account-controller'),
        checkInterval: '1s',
      }),
    ),
  );
  running.push(
    await provisioner.start(
      provisioner.configSchema.parse({
        ...hub.serviceSettings('rbac-provisioner'),
        kubeconfig: plane.kubeconfigFor(serviceUser('rbac-provisioner')),
      }),
    ),
  );
  await plane.admin.create<KubeObject>(resources.clusterRegistrationTokens, {
    apiVersion,
    kind: 'ClusterRegistrationToken',
    metadata: { name: 'fleet', namespace: 'rollcall-join' },
    spec: { publicKey: token.publicKey, uses: 100 },
  } as KubeObject);
  await world.tokenIs(tokenIdOf(token.publicKey), (record) => record.declaration !== undefined);
  await world.makePolicy('valid', [{ name: 'valid-token', when: 'token.valid', effect: 'Approve' }]);
}, 120_000);
afterAll(async () => {
  await Promise.allSettled(running.map((service) => service.stop()));
  anna?.close();
  await world?.[Symbol.asyncDispose]();
});

const bodyOf = (name: string) => ({
  clusterId: clusterIdOf(name),
  clusterName: name,
  tokenKey: token.publicKey,
  facts: { kubernetesVersion: 'v1.36.3' },
});

async function ask(name: string): Promise<RawAgent> {
  const agent = await connectWithToken(world.hub, { key: token });
  await agent.request('join', bodyOf(name), { signers: [agent.key, token] });
  return agent;
}

async function aRevokedMember(name: string): Promise<Nkey> {
  const asking = await ask(name);
  const { result } = await asking.nextNews();
  if (result.kind !== 'admitted') throw new Error(JSON.stringify(result));
  await asking.nc.close();
  const { key } = asking;
  const member = await connectWithCredentials(world.hub, key, { jwt: result.credentials, seed: key.seed });
  await world.clusterIs(name, ({ identity }) => identity?.admittedKey === key.publicKey);
  await world.showCluster(name);
  await anna.mergePatch<KubeObject>(resources.managedClusters, name, {
    spec: {
      operation: { by: person, id: 'w1', verb: 'Revoke', keyFingerprint: keyFingerprint(key.publicKey) },
    },
  });
  await world.clusterIs(name, ({ decision }) => decision?.verdict === 'revoked');
  await member.nc.closed();
  return key;
}

test('whoever was revoked and comes with another key waits for a person: what follows can fail', async () => {
  await aRevokedMember('honest');
  await using again = await ask('honest');
  const { decision } = await world.clusterIs(
    'honest',
    ({ decision: now }) => now?.key === again.key.publicKey,
  );
  expect(decision).toMatchObject({ verdict: 'held', reason: 'KeyChanged' });
}, 60_000);

test('a member that was revoked does not come back by leaving', async () => {
  const key = await aRevokedMember('thief');
  await using returning = await connectWithKey(world.hub, key, clusterIdOf('thief'));
  const leave = (done: boolean) => returning.request('leave', { clusterId: clusterIdOf('thief'), done });
  for (const done of [false, true])
    expect(await leave(done)).toMatchObject({ result: { kind: 'refused', code: 'CLUSTER_REVOKED' } });
  expect((await world.cluster('thief')).identity?.leave).toBeUndefined();
  await using again = await ask('thief');
  const { decision } = await world.clusterIs(
    'thief',
    ({ decision: now }) => now?.key === again.key.publicKey,
  );
  expect(decision).toMatchObject({ verdict: 'held', reason: 'KeyChanged' });
}, 120_000);
