import { expect, test } from 'vitest';
import { isElsewhere } from './bus-access.ts';

test('who signs in to the console of a cluster is not given what lies in the directory of its process', () => {
  const server = 'https://127.0.0.1:1';
  const names = { namespace: 'default', clusterName: 'hub', contextName: 'hub', userName: '' };
  const as = { access: { server, ...names, token: 'of bob' }, bus: { servers: ['127.0.0.1:2'], caPem: '' } };
  expect([isElsewhere({}), isElsewhere({ as })]).toEqual([false, true]);
});
