import { resources } from '@rollcall/shared/kubernetes';
import { aRequest } from '../admission/guarded-hub.ts';
import { type Attack, aToken, tokenFor, ours } from './kubernetes-stage.ts';

/** What the holder of the projector's kubeconfig would try first. */
export const byProjector: readonly Attack[] = [
  {
    name: 'approves a request',
    attempt: (client) =>
      client.mergePatch(ours.requests, 'r-1', { spec: { decision: { verdict: 'Approve' } } }),
    want: 'denied request',
  },
  {
    name: 'makes a request that is approved already',
    attempt: (client) =>
      client.create(
        ours.requests,
        aRequest('r-2', { decision: { verdict: 'Approve', keyFingerprint: 'K1' } }),
      ),
    want: 'denied request',
  },
  {
    name: 'bans a cluster',
    attempt: (client) =>
      client.mergePatch(ours.clusters, 'c-1', {
        spec: { operation: { id: '1', verb: 'Ban', keyFingerprint: 'K1' } },
      }),
    want: 'denied request',
  },
  {
    name: 'accepts a cluster',
    attempt: (client) => client.mergePatch(ours.clusters, 'c-1', { spec: { hubAcceptsClient: true } }),
    want: 'denied request',
  },
  {
    name: 'has a cluster leave by deleting it',
    attempt: (client) => client.delete(ours.clusters, 'c-1'),
    want: 'whether a cluster leaves is for people to say',
  },
  {
    name: 'has it leave through the garbage collector',
    attempt: (client) =>
      client.mergePatch(ours.clusters, 'c-1', {
        metadata: {
          ownerReferences: [
            {
              apiVersion: 'v1',
              kind: 'ConfigMap',
              name: 'gone',
              uid: 'c0ffee00-0000-4000-8000-000000000000',
            },
          ],
        },
      }),
    want: 'no service may write their ownerReferences',
  },
  {
    name: 'makes a registration token',
    attempt: (client) => client.create(ours.tokens, aToken('mine')),
    want: 'cannot create',
  },
  {
    name: 'gives a token more uses',
    attempt: (client) =>
      client.mergePatch(ours.tokens, 'live', { spec: { uses: 'unlimited' } }, { namespace: 'rollcall-join' }),
    want: 'cannot patch',
  },
  {
    name: 'removes a token that is good',
    attempt: (client) => client.delete(ours.tokens, 'live', { namespace: 'rollcall-join' }),
    want: 'only a token whose status says Expired',
  },
  {
    name: 'removes a policy',
    attempt: (client) => client.delete(ours.policies, 'strict'),
    want: 'cannot delete',
  },
  {
    name: 'reads Secrets',
    attempt: (client) => client.list(resources.secrets),
    want: 'cannot list',
    isRead: true,
  },
  {
    name: 'reads the hub’s own credentials',
    attempt: (client) =>
      client.get(resources.secrets, { name: 'rollcall-ops', namespace: 'rollcall-system' }),
    want: 'cannot get',
    isRead: true,
  },
  {
    name: 'mints a token for the provisioner',
    attempt: (client) => tokenFor(client, 'rollcall-system', 'rollcall-rbac-provisioner'),
    want: 'cannot create',
  },
];
