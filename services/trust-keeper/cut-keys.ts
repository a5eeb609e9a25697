import type { EventLog } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import { RollcallError } from '@rollcall/shared/errors';
import {
  clusterRecord,
  type ClusterRecord,
  cut,
  type Decision,
  draft,
  isNewer,
  type StoredEvent,
} from '@rollcall/shared/events';
import { keyFingerprint } from '@rollcall/shared/trust';
import type { Revocations } from './revocation-list.ts';
import type { Connection, SystemAccount } from './system-account.ts';

export interface CutWorld {
  readonly log: Pick<EventLog, 'read' | 'append'>;
  readonly system: Pick<SystemAccount, 'connectionsOf' | 'kick'>;
  /** Public key of the account AGENTS. */
  readonly account: string;
  readonly longestLifeMs: number;
  nowMs(): number;
  /** Returns once the servers refuse every key that a `revoked` on the stream names, and which keys these are. */
  keepClaims(): Promise<Revocations>;
  onKick?(): void;
}

/**
 * Which keys this `revoked` is still to be followed by a `cut` for.
 * @returns none when one has followed, when the cluster was approved again meanwhile, or when they have all lapsed
 */
export function keysToCut(
  record: Pick<ClusterRecord, 'lastOf' | 'decision'>,
  event: Pick<StoredEvent, 'epoch' | 'sequence'>,
  valid: { nowMs: number; longestLifeMs: number },
): Decision['revokedKeys'] {
  const told = record.lastOf['trust-keeper'];
  if (told && isNewer(told, event)) return [];
  const taken = record.decision?.revokedKeys ?? [];
  return taken.filter(({ atMs }) => atMs + valid.longestLifeMs >= valid.nowMs);
}

/** Rounds of looking and kicking; a kicked client may be back in a moment, on a new connection. */
const mostRounds = 5;

/**
 * Ends the connections of a key that the server let be: those whom the callout let in are known by name, and their JWT is
 * not one that a revocation names. Who comes back through the callout is the registrar's to judge.
 * @throws RollcallError KEY_NOT_CUT
 */
async function endConnections(world: CutWorld, key: string): Promise<void> {
  const before = await world.system.connectionsOf(world.account, key);
  const isOld = (one: Connection) =>
    before.some(({ serverId, cid }) => serverId === one.serverId && cid === one.cid);
  let left = before;
  for (let round = 1; left.length > 0; round++) {
    if (round > mostRounds) {
      const message = `${left.length} connections of the key ${keyFingerprint(key)} are still there`;
      throw new RollcallError('KEY_NOT_CUT', message);
    }
    await Promise.all(left.map((connection) => world.system.kick(connection)));
    world.onKick?.();
    left = (await world.system.connectionsOf(world.account, key)).filter(isOld);
  }
}

function nameOf({ key, atMs }: Decision['revokedKeys'][number]): string {
  return `${key} ${atMs}`;
}

/** Brings about what a `revoked` says, and tells it once it was seen to be so. */
export async function cutKeys(world: CutWorld, event: StoredEvent): Promise<void> {
  const aggregate = { kind: event.kind, id: event.id };
  // By key and time: a key that was let in again and taken back once more has to be cut once more.
  const done = new Set<string>();
  const named = new Set((event.section as Decision).revokedKeys.map(({ key }) => key));
  await decideAndAppend(
    world.log,
    {
      async gather() {
        const record = clusterRecord(await world.log.read(aggregate));
        const nowMs = world.nowMs();
        const keys = keysToCut(record, event, { nowMs, longestLifeMs: world.longestLifeMs });
        const open = keys.filter((taken) => !done.has(nameOf(taken)));
        if (open.length > 0) {
          const refused = await world.keepClaims();
          // A key of a decision whose own `revoked` is still to come is not on the list yet; that event will wake us.
          const listed = open.filter(({ key }) => refused[key] !== undefined);
          // A key of this event that the full list has no room for can come back, so it is not said to be cut.
          const dropped = open.filter(({ key }) => refused[key] === undefined && named.has(key));
          await Promise.all([...listed, ...dropped].map(({ key }) => endConnections(world, key)));
          for (const taken of listed) done.add(nameOf(taken));
        }
        const cutNow = keys.filter((taken) => done.has(nameOf(taken)));
        return { record, keys: cutNow, nowMs: world.nowMs() };
      },
      decide({ record, keys, nowMs }) {
        const last = keys.at(-1);
        if (last === undefined) return [];
        const { key } = last;
        const message = `the servers refuse ${keys.map((taken) => keyFingerprint(taken.key)).join(', ')} and have no connection of it`;
        const what = {
          by: { service: 'trust-keeper' },
          reason: 'Cut',
          message,
          section: { key, atMs: nowMs },
        };
        return [draft(cut, record, what)];
      },
    },
    { correlation: event.correlation, traceparent: event.traceparent },
  );
}
