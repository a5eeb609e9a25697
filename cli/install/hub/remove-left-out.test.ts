import type { KubeClient } from '@rollcall/shared/kubernetes';
import { expect, test } from 'vitest';
import { hubValuesSchema } from './hub-values.ts';
import { removeLeftOut } from './remove-left-out.ts';

const kinds = [
  'ConfigMap',
  'Deployment',
  'Ingress',
  'NetworkPolicy',
  'Service',
  'ServiceAccount',
  'StatefulSet',
];
const served = kinds.map((kind) => ({ kind, name: `${kind.toLowerCase()}s`, namespaced: true, verbs: [] }));

test('in the cluster of the pods nobody is asked for rights, which an install there may not read', async () => {
  const deleted: string[] = [];
  const client: Partial<KubeClient> = {
    list: () => Promise.reject(new Error('forbidden')),
    raw: async () => ({ status: 200, body: JSON.stringify({ resources: served }), headers: {} }) as never,
    delete: async (_resource, name) => {
      deleted.push(name);
      return false;
    },
  };
  await removeLeftOut(client as KubeClient, hubValuesSchema.parse({ parts: { kubernetes: false } }));
  expect(new Set(deleted)).toEqual(new Set(['rollcall-nats', 'rollcall-console', 'rollcall-forward']));
});
