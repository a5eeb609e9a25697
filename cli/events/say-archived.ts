import type { NatsConnection } from '@nats-io/transport-node';
import { readArchived } from '@rollcall/shared/bus';
import { say } from '../terminal/output.ts';

/** What of the past lies elsewhere; undefined where nothing was archived, or only what is older. */
export async function archivedWords(nc: NatsConnection, fromSequence: number): Promise<string | undefined> {
  const archived = await readArchived(nc);
  if (!archived || archived.throughSequence < fromSequence) return undefined;
  const { total, throughSequence, file, isOfNewerVersion } = archived;
  if (isOfNewerVersion)
    return `a newer version has archived events up to ${throughSequence}; they are not shown`;
  return `of the events up to ${throughSequence}, ${total} are in archives, the newest of them "${file}"; they are not shown`;
}

/** Says in a line what of the past lies elsewhere. */
export async function sayArchived(nc: NatsConnection, fromSequence: number): Promise<void> {
  const words = await archivedWords(nc, fromSequence);
  if (words !== undefined) say(words);
}
