import { join } from 'node:path';
import {
  type BusAddress,
  connectBus,
  deleteEvents,
  forgetConsumers,
  openEventLog,
  refillStream,
  setUpStreams,
} from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import { draft, epochAggregate, restored } from '@rollcall/shared/events';
import { readState } from '../up/private-files.ts';
import type { HubState } from '../up/state/hub-state.ts';
import { fingerprintsOut } from '../up/state/revocations-of.ts';
import type { CheckedBackup } from './read-backup.ts';
import { asMessages, type Gaps, withoutGaps } from './stream-messages.ts';
import { temporaryUser } from './temporary-user.ts';

/** Everything that the backup has, and the event that begins the epoch. */
export async function fillStreams(
  backup: CheckedBackup,
  to: { address: BusAddress; directory: string; hub: HubState },
): Promise<void> {
  const { address, directory, hub } = to;
  const { header } = backup;
  const nc = await connectBus(address, temporaryUser(directory, hub, 'restore'), 'restore');
  try {
    const gaps: Gaps = { sequences: [], isArchived: false };
    await refillStream(nc, withoutGaps(backup.messages('EVENTS'), gaps), { sameSequences: true });
    // What archives have takes no place here either.
    if (gaps.isArchived) await deleteEvents(nc, gaps.sequences);
    // State, and told anew: what is shown of an earlier epoch is older.
    const anew = { 'rollcall-epoch': String(hub.epoch) };
    await refillStream(nc, asMessages(backup.messages('FACTS'), anew), { sameSequences: false });
    await refillStream(nc, asMessages(backup.messages('DEAD')), { sameSequences: false });
    const log = await openEventLog(nc, { epoch: hub.epoch, source: '/rollcall/restore' });
    const takenAt = new Date(header.takenAtMs).toISOString();
    await log.append(
      [
        draft(restored, await log.read(epochAggregate, { unknownAsGarbage: true }), {
          reason: 'Restored',
          message: `epoch ${hub.epoch} begins, from a backup of ${takenAt} with ${header.throughSequence} events of epoch ${header.epoch}`,
          section: {
            epoch: hub.epoch,
            throughSequence: header.throughSequence,
            backupTakenAtMs: header.takenAtMs,
            outKeys: fingerprintsOut(directory, hub),
          },
        }),
      ],
      { correlation: 'restore' },
    );
    // Made anew where they were; set-up itself may delete none.
    await forgetConsumers(nc);
  } finally {
    await nc.close();
  }
}

/** Services go on where they were, and not from the first event of all. */
export async function placeConsumers(
  address: BusAddress,
  directory: string,
  handled: Readonly<Record<string, number>>,
): Promise<void> {
  const setup = readState<{ bus: { jwt: string; seed: string } }>(
    join(directory, 'identities', 'setup.json'),
  );
  if (!setup) throw new RollcallError('BACKUP_INVALID', 'the identity that makes the streams is not in it');
  const nc = await connectBus(address, setup.bus, 'setup');
  try {
    await setUpStreams(nc, { replicas: 1, handled });
  } finally {
    await nc.close();
  }
}
