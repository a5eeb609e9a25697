import {
  applyManifests,
  createKubeClient,
  type KubeClient,
  resources,
  type StoredObject,
} from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { agentAccount, agentManifest } from '../../tests/harness/agent-manifest.ts';
import { startTestControlPlane, type TestControlPlane } from '../../tests/harness/control-plane.ts';
import { until } from '../../tests/harness/embedded.ts';
import { everythingIn } from '../../tests/harness/everything.ts';
import { uninstallFromMember } from '../main.ts';

let plane: TestControlPlane;
let agent: KubeClient;
beforeAll(async () => {
  plane = await startTestControlPlane({ withControllerManager: true, withManifests: false });
  const access = plane.plane.userAccess(agentAccount.user, agentAccount.groups);
  agent = createKubeClient(access, { fieldManager: 'rollcall-agent', userAgent: 'rollcall-test' });
});
afterAll(async () => {
  agent.close();
  await plane[Symbol.asyncDispose]();
});

const mayDeleteRole = async (): Promise<boolean> => {
  const spec = {
    resourceAttributes: {
      group: 'rbac.authorization.k8s.io',
      resource: 'clusterroles',
      name: 'rollcall-agent',
      verb: 'delete',
    },
  };
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    metadata: {},
    spec,
  };
  const answer = await agent.create(resources.selfSubjectAccessReviews, review as never);
  return (answer as StoredObject & { status?: { allowed?: boolean } }).status?.allowed ?? false;
};

test(
  'with the rights of the manifests and no others an agent removes all of them, each time',
  { timeout: 120_000 },
  async () => {
    for (let turn = 0; turn < 3; turn++) {
      await applyManifests(plane.admin, [agentManifest()]);
      await until('its rights are in force', mayDeleteRole);
      const { beforeGoodbye, afterGoodbye } = uninstallFromMember(agent);
      await beforeGoodbye();
      expect(await agent.get(resources.namespaces, { name: 'rollcall-agent' }).catch(() => 'forbidden')).toBe(
        'forbidden',
      );
      await afterGoodbye();
      const ours = async () => (await everythingIn(plane.admin)).filter((one) => one.includes('rollcall'));
      await until('nothing of it is left', async () => (await ours()).length === 0).catch(() => undefined);
      expect(await ours()).toEqual([]);
    }
  },
);
