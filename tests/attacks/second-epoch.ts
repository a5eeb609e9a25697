import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectBus, openEventLog } from '@rollcall/shared/bus';
import { draft, epochAggregate, restored } from '@rollcall/shared/events';
import type { TestHub } from '../harness/test-hub.ts';

/** Makes the hub one that was restored from a backup of that time, before that service of it starts. */
export async function beginSecondEpoch(
  hub: TestHub,
  service: 'registrar' | 'approver',
  backupTakenAtMs: number,
): Promise<void> {
  const path = join(hub.stateDir, 'identities', `${service}.json`);
  const identity = JSON.parse(readFileSync(path, 'utf8')) as object;
  writeFileSync(path, JSON.stringify({ ...identity, epoch: 2 }), { mode: 0o600 });
  const nc = await connectBus(hub.address, hub.credentialsOf('restore'), 'restore');
  const log = await openEventLog(nc, { epoch: 2, source: '/rollcall/restore' });
  const section = { epoch: 2, throughSequence: 0, backupTakenAtMs };
  const what = { reason: 'Restored', message: 'restored by a test', section };
  await log.append([draft(restored, await log.read(epochAggregate), what)], { correlation: 'test' });
  await nc.close();
}
