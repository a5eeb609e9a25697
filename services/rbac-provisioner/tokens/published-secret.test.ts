import type { HubInfo } from '@rollcall/shared/hub';
import { KubeApiError, type KubeClient, type KubeObject } from '@rollcall/shared/kubernetes';
import { createRegistrationToken } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { makeSecret } from './published-secret.ts';

const hub: HubInfo = {
  hubId: 'abcdefghijkmnpqr',
  addresses: ['hub.example.org:4222'],
  caPem: '',
  caCertHash: `sha256:${'0'.repeat(64)}`,
  epoch: 1,
};
const asked = {
  namespace: 'tenant',
  name: 'edge',
  uid: 'token-uid',
  clusterName: undefined,
  clientId: undefined,
};
type Stored = KubeObject & { readonly data?: Readonly<Record<string, string>> };

function answer(status: number, reason: string): KubeApiError {
  return new KubeApiError(reason, { status, reason, details: {} });
}

/** A namespace whose people may write Secrets too. */
function aNamespace(first: Stored | undefined, options: { isKept?: boolean; again?: () => Stored } = {}) {
  let there = first;
  let made = 0;
  const kube = {
    async create(_resource: unknown, secret: Stored & { stringData?: Record<string, string> }) {
      if (there) throw answer(409, 'AlreadyExists');
      const data = Object.entries(secret.stringData ?? {}).map(([key, text]) => [
        key,
        Buffer.from(text).toString('base64'),
      ]);
      const metadata = { ...secret.metadata, uid: `made-${++made}` };
      there = { ...secret, metadata, data: Object.fromEntries(data) };
      return there;
    },
    get: async () => there,
    async delete() {
      if (options.isKept !== true) there = options.again?.();
    },
  } as unknown as KubeClient;
  return { kube, there: () => there };
}

/** As whoever may write Secrets there can make one. */
function looksLikeOurs(tokenUid: string, publicKey: string): Stored {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: asked.name,
      namespace: asked.namespace,
      uid: 'theirs',
      labels: { 'rollcall.dev/created-by': 'rbac-provisioner' },
      annotations: { 'rollcall.dev/token-uid': tokenUid, 'rollcall.dev/public-key': publicKey },
    },
    data: {},
  };
}

test('what another replica made, and did not come to tell, is taken over', async () => {
  const { kube } = aNamespace(undefined);
  const first = await makeSecret(kube, asked, hub);
  expect(await makeSecret(kube, asked, hub)).toEqual(first);
});

test.each([
  { name: 'of somebody else', publicKey: createRegistrationToken(hub.hubId).key.publicKey },
  { name: 'that is none', publicKey: 'x'.repeat(200_000) },
])('a Secret that only names a key $name is not believed', async ({ publicKey }) => {
  const { kube } = aNamespace(looksLikeOurs(asked.uid, publicKey));
  expect(await makeSecret(kube, asked, hub)).toMatchObject({ uid: 'made-1' });
});

test('that of an earlier token makes room at once', async () => {
  const { kube } = aNamespace(looksLikeOurs('earlier', 'U'));
  expect(await makeSecret(kube, asked, hub)).toMatchObject({ uid: 'made-1' });
});

test.each([
  { name: 'has a finalizer that nobody takes off', isKept: true },
  { name: 'is made again each time', again: () => looksLikeOurs('earlier', 'U') },
])('one that $name is told of, and not tried for ever', async (options) => {
  const { kube } = aNamespace(looksLikeOurs('earlier', 'U'), options);
  expect(await makeSecret(kube, asked, hub)).toMatchObject({ reason: 'SecretTaken', code: 'SECRET_TAKEN' });
});
