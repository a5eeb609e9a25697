import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type BusAddress, connectBus, openEventLog, streamState } from '@rollcall/shared/bus';
import { draft, epochAggregate, restored } from '@rollcall/shared/events';
import type { HubState } from '../up/state/hub-state.ts';
import { readState, writePrivate } from '../up/private-files.ts';
import { fingerprintsOut } from '../up/state/revocations-of.ts';
import { temporaryUser } from './temporary-user.ts';

/**
 * A new epoch of what is left begins: who was put out after it is looked up in Kubernetes and on the servers' own list, as after a restore.
 * @returns the last event that is left
 * @throws RollcallError KEYS_OFFLINE, BUS_UNREACHABLE
 */
export async function beginEpoch(
  address: BusAddress,
  where: { stateDir: string; hub: HubState; epoch: number },
): Promise<number> {
  const { stateDir, hub, epoch } = where;
  const nc = await connectBus(address, temporaryUser(stateDir, hub, 'restore'), 'restore');
  try {
    const { lastSequence: throughSequence } = await streamState(nc, 'EVENTS');
    const log = await openEventLog(nc, { epoch, source: '/rollcall/restore' });
    const outKeys = fingerprintsOut(stateDir, hub);
    const section = { epoch, throughSequence, backupTakenAtMs: Date.now(), outKeys };
    const message = `epoch ${epoch} begins with the ${throughSequence} events that are left of the history`;
    const event = draft(restored, await log.read(epochAggregate, { unknownAsGarbage: true }), {
      reason: 'LossAccepted',
      message,
      section,
    });
    await log.append([event], { correlation: 'restore' });
    return throughSequence;
  } finally {
    await nc.close();
  }
}

/** Services are of the new epoch from their next start on; the hub itself says so last. */
export function enterEpoch(stateDir: string, epoch: number): void {
  const identities = readdirSync(join(stateDir, 'identities')).map((name) => join('identities', name));
  for (const path of [...identities, 'hub.json']) {
    const document = readState<object>(join(stateDir, path));
    if (document) writePrivate(join(stateDir, path), JSON.stringify({ ...document, epoch }, undefined, 2));
  }
}
