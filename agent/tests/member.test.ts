import { type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestControlPlane, type TestControlPlane } from '../../tests/harness/control-plane.ts';
import { readClusterId } from '../facts/cluster-identity.ts';
import { secretKeyStore } from '../keys/key-store-secret.ts';
import { openMemberApi } from '../facts/member-api.ts';
import { anAgentState, keyStoreConformance } from './key-store-conformance.ts';

let member: TestControlPlane;
let count = 0;
beforeAll(async () => {
  member = await startTestControlPlane({ withManifests: false });
});
afterAll(() => member[Symbol.asyncDispose]());

type Secret = KubeObject & { data?: Record<string, string> };
const namespace = 'default';
const key = 'agent-state';

describe('a Secret', () => {
  keyStoreConformance(() => {
    const name = `agent-${count++}`;
    return {
      open: () => secretKeyStore(member.admin, { namespace, name }),
      async damage(change) {
        const secret = await member.admin.get<Secret>(resources.secrets, { namespace, name });
        const text = change(Buffer.from(secret?.data?.[key] ?? '', 'base64').toString('utf8'));
        const data = { [key]: Buffer.from(text).toString('base64') };
        await member.admin.mergePatch(resources.secrets, name, { data }, { namespace });
      },
    };
  });

  test('keeps what others put there, and refuses to overwrite what another agent kept', async () => {
    const name = `agent-${count++}`;
    const labels = { 'app.kubernetes.io/managed-by': 'Helm' };
    await member.admin.create(resources.secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace, labels },
    });
    const [one, two] = [1, 2].map(() => secretKeyStore(member.admin, { namespace, name }));
    expect([await one?.load(), await two?.load()]).toEqual([undefined, undefined]);
    await one?.save(anAgentState());
    await expect(two?.save(anAgentState())).rejects.toMatchObject({ status: 409 });
    // Nor the next time, nor by an agent that has not looked before.
    const third = secretKeyStore(member.admin, { namespace, name });
    for (const store of [two, third])
      await expect(store?.save(anAgentState())).rejects.toMatchObject({ code: 'AGENT_STATE_OTHER' });
    expect((await member.admin.get(resources.secrets, { namespace, name }))?.metadata.labels).toEqual(labels);
  });

  test('is saved at the next try when somebody wrote beside it, when it is gone, and when an answer got lost', async () => {
    const name = `agent-${count++}`;
    let isAnswerLost = false;
    const store = secretKeyStore(
      {
        get: member.admin.get,
        create: member.admin.create,
        async mergePatch(...args) {
          const answer = await member.admin.mergePatch<never>(...args);
          if (isAnswerLost) throw new Error('reset');
          return answer;
        },
      },
      { namespace, name },
    );
    const savedAtTheSecondTry = async (waitingJwt: string, failure: RegExp) => {
      const state = anAgentState({ waitingJwt });
      await expect(store.save(state)).rejects.toThrow(failure);
      isAnswerLost = false;
      await store.save(state);
      expect(await secretKeyStore(member.admin, { namespace, name }).load()).toEqual(state);
    };
    await store.save(anAgentState());
    const metadata = { annotations: { who: 'else' } };
    await member.admin.mergePatch(resources.secrets, name, { metadata }, { namespace });
    await savedAtTheSecondTry('beside', /modified|conflict/i);
    await member.admin.delete(resources.secrets, name, { namespace });
    await savedAtTheSecondTry('gone', /not found/);
    isAnswerLost = true;
    await savedAtTheSecondTry('lost', /reset/);
  });
});

test('a member is known by the UID of kube-system [FL-4]', async () => {
  const api = openMemberApi(member.plane.access, '0.1.0');
  const kubeSystem = await member.admin.get(resources.namespaces, { name: 'kube-system' });
  expect(await readClusterId(api, undefined)).toBe(kubeSystem?.metadata.uid);
  api.close();
});

test('a member that lets the agent read nothing is forbidden, not unreachable', async () => {
  const api = openMemberApi(member.plane.userAccess('nobody', []), '0.1.0');
  await expect(readClusterId(api, undefined)).rejects.toMatchObject({ code: 'MEMBER_FORBIDDEN' });
  api.close();
});
