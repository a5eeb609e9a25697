import type { EventLog } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
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

export interface CutWorld {
  readonly log: Pick<EventLog, 'read' | 'append'>;
  readonly longestLifeMs: number;
  nowMs(): number;
  /** Returns once the servers refuse every key that a `revoked` on the stream names, and which keys these are. */
  keepClaims(): Promise<Revocations>;
  /** Returns once the key has none of the connections that it had (end-connections.ts). */
  endConnections(key: string): Promise<void>;
  readonly cutKeys: CutKeys;
}

/**
 * Which keys this process has seen cut, by key and time: a key that was let in again and taken back once more has to be cut once
 * more. A cluster that rotates has those of three days in each of its decisions; until they lapse they stay refused, and nobody is
 * asked about them again.
 */
export class CutKeys {
  readonly #atMs = new Map<string, number>();

  has(taken: TakenBack): boolean {
    return this.#atMs.has(nameOf(taken));
  }

  /** @param lapsedAtMs - what was taken back before is forgotten */
  add(taken: TakenBack, lapsedAtMs: number): void {
    for (const [name, atMs] of this.#atMs) {
      if (atMs >= lapsedAtMs && this.#atMs.size < mostKnown) break;
      this.#atMs.delete(name);
    }
    this.#atMs.set(nameOf(taken), taken.atMs);
  }
}

type TakenBack = Decision['revokedKeys'][number];

/** More than fit into the revocation list. */
const mostKnown = 20_000;

/**
 * Which keys this `revoked` is still to be followed by a `cut` for.
 * @returns none when one has followed, when the cluster was approved again meanwhile, or when they have all lapsed
 */
export function keysToCut(
  record: Pick<ClusterRecord, 'lastOf' | 'decision'>,
  event: Pick<StoredEvent, 'epoch' | 'sequence'>,
  valid: { nowMs: number; longestLifeMs: number },
): Decision['revokedKeys'] {
  const told = record.lastOf['account-controller'];
  if (told && isNewer(told, event)) return [];
  const taken = record.decision?.revokedKeys ?? [];
  return taken.filter(({ atMs }) => atMs + valid.longestLifeMs >= valid.nowMs);
}

function nameOf({ key, atMs }: TakenBack): string {
  return `${key} ${atMs}`;
}

/** Brings about what a `revoked` says, and tells it once it was seen to be so. */
export async function cutKeys(world: CutWorld, event: StoredEvent): Promise<void> {
  const aggregate = { kind: event.kind, id: event.id };
  const { cutKeys: done, longestLifeMs } = world;
  const named = new Set((event.section as Decision).revokedKeys.map(({ key }) => key));
  await decideAndAppend(
    world.log,
    {
      async gather() {
        const record = clusterRecord(await world.log.read(aggregate));
        const nowMs = world.nowMs();
        const keys = keysToCut(record, event, { nowMs, longestLifeMs });
        const open = keys.filter((taken) => !done.has(taken));
        if (open.length > 0) {
          const refused = await world.keepClaims();
          // A key of a decision whose own `revoked` is still to come is not on the list yet; that event will wake us.
          const listed = open.filter(({ key }) => refused[key] !== undefined);
          // A key of this event that the full list has no room for can come back, so it is not said to be cut.
          const dropped = open.filter(({ key }) => refused[key] === undefined && named.has(key));
          await Promise.all([...listed, ...dropped].map(({ key }) => world.endConnections(key)));
          for (const taken of listed) done.add(taken, nowMs - longestLifeMs);
        }
        const cutNow = keys.filter((taken) => done.has(taken));
        return { record, keys: cutNow, nowMs: world.nowMs() };
      },
      decide({ record, keys, nowMs }) {
        const last = keys.at(-1);
        if (last === undefined) return [];
        const { key } = last;
        const message = `the servers refuse ${keys.map((taken) => keyFingerprint(taken.key)).join(', ')} and have no connection of it`;
        const what = {
          by: { service: 'account-controller' },
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
