import { serviceRoles } from '@rollcall/shared/rights';
import { type JoinRounds, type KindOfHub, measureJoinRounds } from './join-rounds.ts';

/** Joins of one kind of hub. */
export interface DurabilityResult extends JoinRounds {
  readonly servers: 1 | 3;
  /** `sync_interval: always`: what is acknowledged is on disk. */
  readonly isSynced: boolean;
}

const atOnce = 40;

const kinds: readonly Pick<DurabilityResult, 'servers' | 'isSynced'>[] = [
  { servers: 1, isSynced: true },
  { servers: 1, isSynced: false },
  { servers: 3, isSynced: true },
  { servers: 3, isSynced: false },
];

function hubOf({ servers, isSynced }: (typeof kinds)[number]): KindOfHub {
  const name = `of ${servers} NATS server(s) that ${isSynced ? 'write' : 'do not write'} to disk first`;
  if (isSynced) return { name, settings: { servers } };
  const unsafe = { allowUnsafeBus: 'true' };
  const settings = Object.fromEntries(Object.keys(serviceRoles).map((service) => [service, unsafe]));
  return { name, settings: { servers, withoutSync: true, settings } };
}

/** What it costs that an acknowledged event is on disk, and on three servers. */
export async function measureDurability(say: (message: string) => void): Promise<DurabilityResult[]> {
  const found = await measureJoinRounds(kinds.map(hubOf), atOnce, say);
  return found.map((joins, index) => ({ ...(kinds[index] as (typeof kinds)[number]), ...joins }));
}
