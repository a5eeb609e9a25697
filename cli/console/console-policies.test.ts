import { KubeApiError, type KubeClient, type StoredObject } from '@rollcall/shared/kubernetes';
import { expect, test } from 'vitest';
import { consolePolicies } from './console-policies.ts';

const rules = (name: string) => [{ name, effect: 'Hold', when: 'true' }];
const policy = (uid: string, name: string) =>
  ({
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ApprovalPolicy',
    metadata: { name: 'own', uid, resourceVersion: uid, generation: 1 },
    spec: { rules: rules(name) },
  }) as unknown as StoredObject;

/** A hub with one policy. */
function hubWith(first: StoredObject) {
  const hub = { now: first, written: [] as StoredObject[] };
  const client: Partial<KubeClient> = {
    list: async ({ plural }) => (plural === 'approvalpolicies' ? [hub.now] : []) as never,
    get: async () => hub.now as never,
    async replace(_resource, object) {
      hub.written.push(object as never);
      return object as never;
    },
  };
  return { hub, desk: consolePolicies(client as KubeClient, {}), client };
}

test('a policy that was deleted and written anew by somebody else is not overwritten', async () => {
  const { hub, desk } = hubWith(policy('u1', 'first'));
  const [shown] = await desk.list();
  hub.now = policy('u2', 'others');
  const change = { text: shown?.text ?? '', version: shown?.version };
  await expect(desk.write(change)).rejects.toThrow('somebody else wrote policy "own" since you began');
  expect(hub.written).toEqual([]);
});

test('what nobody else wrote is written', async () => {
  const { hub, desk } = hubWith(policy('u1', 'first'));
  const [shown] = await desk.list();
  await desk.write({ text: shown?.text ?? '', version: shown?.version });
  expect(hub.written).toHaveLength(1);
});

test('a text is not said to be without fault where the sets could not be read', async () => {
  const { desk, client } = hubWith(policy('u1', 'first'));
  const [shown] = await desk.list();
  const fail = (status: number) => () =>
    Promise.reject(
      new KubeApiError('no', { status, reason: status === 403 ? 'Forbidden' : 'Away', details: {} }),
    );
  client.list = fail(503);
  await expect(desk.check(shown?.text ?? '')).rejects.toThrow('no');
  client.list = fail(403);
  await expect(desk.check(shown?.text ?? '')).resolves.toBeInstanceOf(Array);
});
