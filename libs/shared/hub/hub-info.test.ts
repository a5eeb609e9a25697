import type { KubeClient } from '@rollcall/shared/kubernetes';
import { createNkey, hubIdOf } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { findHubInfo } from './hub-info.ts';

function hubThatSays(hubId: string): Pick<KubeClient, 'get'> {
  const data = { hubId, addresses: 'hub:4222', caBundle: 'PEM', caCertHash: 'sha256:00' };
  return { get: () => Promise.resolve({ metadata: {}, data } as never) };
}

test('the id of a hub is read as it is', async () => {
  const hubId = hubIdOf(createNkey('account').publicKey);
  expect(await findHubInfo(hubThatSays(hubId))).toMatchObject({ hubId });
});

test.each([
  { name: 'a place beside the directory of backups', hubId: '../../../etc/cron' },
  { name: 'a slash', hubId: '0123456/89abcdef' },
  { name: 'an escape', hubId: '0123456\u001b89abcdef' },
  { name: 'letters that people mix up', hubId: '0123456789abcdeo' },
  { name: 'upper case', hubId: '0123456789ABCDEF' },
  { name: '17 characters', hubId: '0123456789abcdefg' },
  { name: 'two lines', hubId: '0123456789abcdef\n' },
])('$name is no id of a hub, and where it is said there is none', async ({ hubId }) => {
  expect(await findHubInfo(hubThatSays(hubId))).toBeUndefined();
});
