import type { NatsConnection } from '@nats-io/transport-node';
import { readArchived } from '@rollcall/shared/bus';
import { say } from '../terminal/output.ts';

/** Says in a line what of the past lies elsewhere; nothing where nothing was archived, or only what is older. */
export async function sayArchived(nc: NatsConnection, fromSequence: number): Promise<void> {
  const archived = await readArchived(nc);
  if (!archived || archived.throughSequence < fromSequence) return;
  const { total, throughSequence, file, isOfNewerVersion } = archived;
  if (isOfNewerVersion) {
    say(`a newer version has archived events up to ${throughSequence}; they are not shown`);
    return;
  }
  say(
    `of the events up to ${throughSequence}, ${total} are in archives, the newest of them "${file}"; they are not shown`,
  );
}
