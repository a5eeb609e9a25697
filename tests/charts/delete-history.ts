import { connectBus } from '@rollcall/shared/bus';
import { otherRoles } from '@rollcall/shared/rights';
import { nkeyFromSeed } from '@rollcall/shared/trust';
import { expect } from 'vitest';
import { openHubFiles } from '../../cli/trust/hub-files.ts';
import { busUser } from '../../cli/up/state/hub-state.ts';
import { readOfflineKeys } from '../../cli/up/state/offline-keys.ts';
import type { ChartHub } from './chart-hub.ts';

/** A user as no command makes it: who has the keys of the hub can lose everything. */
export async function deleteHistory(hub: Pick<ChartHub, 'keys' | 'address'>): Promise<void> {
  const state = openHubFiles(hub.keys).read('hub');
  const right = { publish: ['$JS.API.>'], subscribe: ['_INBOX_setup.>'] };
  const role = { ...otherRoles.setup, ...right };
  const signer = nkeyFromSeed(readOfflineKeys(hub.keys).signers.hub);
  const nowMs = Date.now();
  const issuer = { keys: state.keys, signer, expiresAtMs: nowMs + 600_000 };
  const user = busUser(role, 'setup', issuer, nowMs);
  const nc = await connectBus({ servers: [hub.address], caPem: state.caPem }, user, 'setup');
  const { data } = await nc.request('$JS.API.STREAM.DELETE.EVENTS', '', { timeout: 10_000 });
  expect(new TextDecoder().decode(data)).toContain('"success":true');
  await nc.close();
}
