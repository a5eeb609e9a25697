import { join } from 'node:path';
import type { NatsConnection } from '@nats-io/transport-node';
import {
  type BusAddress,
  connectBus,
  deleteEvents,
  digestAt,
  forgetConsumers,
  openEventLog,
  refillStream,
  setUpStreams,
  streamSize,
  streamState,
} from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import { digestOf, draft, epochAggregate, epochRecord, restored } from '@rollcall/shared/events';
import { readState } from '../up/private-files.ts';
import type { HubState } from '../up/state/hub-state.ts';
import { fingerprintsOut } from '../up/state/revocations-of.ts';
import type { CheckedBackup } from './read-backup.ts';
import { asMessages, type Gaps, withoutGaps } from './stream-messages.ts';
import { temporaryUser } from './temporary-user.ts';

/**
 * How far an earlier run came that was stopped: nobody else writes what the backup has there.
 * @throws RollcallError STATE_NOT_EMPTY: the servers have another history
 */
async function filledThrough(nc: NatsConnection, backup: CheckedBackup): Promise<number> {
  const { lastSequence } = await streamState(nc, 'EVENTS');
  if (lastSequence === 0) return 0;
  const stored = await digestAt(nc, lastSequence);
  const written = withoutGaps(backup.messages('EVENTS'), { sequences: [], isArchived: false });
  for await (const { sequence, subject, headers, data } of written) {
    if (sequence < lastSequence) continue;
    if (sequence === lastSequence && digestOf(subject, headers['ce-id'] ?? '', data) === stored)
      return lastSequence;
    break;
  }
  throw new RollcallError(
    'STATE_NOT_EMPTY',
    `the servers have ${lastSequence} events that are not a beginning of the backup`,
  );
}

/**
 * Whether the servers have nothing, or what an earlier run wrote that was stopped; changes nothing.
 * @throws RollcallError STATE_NOT_EMPTY, BUS_UNREACHABLE, BUS_REFUSED
 */
export async function checkRoomOnServers(
  backup: CheckedBackup,
  { address, directory, hub }: { address: BusAddress; directory: string; hub: HubState },
): Promise<void> {
  const nc = await connectBus(address, temporaryUser(directory, hub, 'restore'), 'restore');
  try {
    if (await streamSize(nc, 'EVENTS')) await filledThrough(nc, backup);
  } finally {
    await nc.close();
  }
}

async function* stillThere(nc: NatsConnection, sequences: readonly number[]): AsyncIterable<number> {
  for (const sequence of sequences) if ((await digestAt(nc, sequence)) !== undefined) yield sequence;
}

async function* after<Message extends { readonly sequence: number }>(
  messages: AsyncIterable<Message>,
  through: number,
): AsyncIterable<Message> {
  for await (const message of messages) if (message.sequence > through) yield message;
}

/**
 * Everything that the backup has, and the event that begins the epoch. One that was stopped goes on where it was.
 * @throws RollcallError STATE_NOT_EMPTY, BUS_UNREACHABLE
 */
export async function fillStreams(
  backup: CheckedBackup,
  to: { address: BusAddress; directory: string; hub: HubState },
): Promise<void> {
  const { address, directory, hub } = to;
  const { header } = backup;
  const nc = await connectBus(address, temporaryUser(directory, hub, 'restore'), 'restore');
  try {
    const log = await openEventLog(nc, { epoch: hub.epoch, source: '/rollcall/restore' });
    const before = await log.read(epochAggregate, { unknownAsGarbage: true });
    // The last that is written: all else is there.
    if (epochRecord(before).restored?.epoch === hub.epoch) return await forgetConsumers(nc);
    const through = await filledThrough(nc, backup);
    const gaps: Gaps = { sequences: [], isArchived: false };
    await refillStream(nc, after(withoutGaps(backup.messages('EVENTS'), gaps), through), {
      sameSequences: true,
    });
    // What archives have takes no place here either.
    if (gaps.isArchived)
      await deleteEvents(nc, through === 0 ? gaps.sequences : stillThere(nc, gaps.sequences));
    // State, and told anew: what is shown of an earlier epoch is older.
    const anew = { 'rollcall-epoch': String(hub.epoch) };
    await refillStream(nc, asMessages(backup.messages('FACTS'), anew), { sameSequences: false });
    await refillStream(nc, asMessages(backup.messages('DEAD')), { sameSequences: false });
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
  {
    directory,
    handled,
    replicas,
  }: { directory: string; handled: Readonly<Record<string, number>>; replicas: number },
): Promise<void> {
  const setup = readState<{ bus: { jwt: string; seed: string } }>(
    join(directory, 'identities', 'setup.json'),
  );
  if (!setup) throw new RollcallError('BACKUP_INVALID', 'the identity that makes the streams is not in it');
  const nc = await connectBus(address, setup.bus, 'setup');
  try {
    await setUpStreams(nc, { replicas, handled });
  } finally {
    await nc.close();
  }
}
