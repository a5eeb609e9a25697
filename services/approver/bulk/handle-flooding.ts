import type { EventLog, Trace } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import {
  clusterRecord,
  type ClusterRecord,
  currentIdentity,
  type Decision,
  denied,
  draft,
  type EventDraft,
  type Identity,
  isDecidedSince,
  revoked,
} from '@rollcall/shared/events';
import {
  denialAfter,
  type Heartbeat,
  type Outcome,
  type SectionBase,
  withAllRevoked,
  withTakenByAgent,
} from '../decision/decision-section.ts';
import { eachOnce } from '../each-once.ts';
import { gatherBulk, type BulkParts } from './gather-bulk-change.ts';
import { passOrHold } from './bulk-change.ts';
import { putOutLog } from './append-with-count.ts';
import { decideRevocation } from '../decision/events-after-decision.ts';

type Words = Omit<Outcome, 'verdict'>;

/** Who floods, by the word of whoever heard it. */
interface Flood {
  readonly key: string;
  readonly by: 'heartbeat' | 'registrar';
  readonly atMs: number;
  readonly what: string;
}

const inSeconds = ({ seconds }: { seconds: number }) => `in ${seconds.toFixed(1)} s`;

function floodsOf({ liveness, identity }: ClusterRecord): Flood[] {
  const heartbeats = liveness?.flood;
  const asks = identity?.flood;
  return [
    ...(liveness && heartbeats
      ? [
          {
            key: liveness.key,
            by: 'heartbeat' as const,
            atMs: heartbeats.atMs,
            what:
              heartbeats.connections === undefined
                ? `${heartbeats.heartbeats} heartbeats ${inSeconds(heartbeats)}`
                : `${heartbeats.connections} connections at once`,
          },
        ]
      : []),
    ...(asks
      ? [
          {
            key: asks.key,
            by: 'registrar' as const,
            atMs: asks.atMs,
            what: `${asks.requests} requests ${inSeconds(asks)}`,
          },
        ]
      : []),
  ];
}

/** The key that is in is out, and so is the one that it is replacing, whichever of them floods: one agent has both. */
function takeOut(record: ClusterRecord & { decision: Decision }, what: Words, nowMs: number): EventDraft[] {
  const { approvedKey, retiringKey, ...rest } = record.decision;
  const words = rest.key === approvedKey ? { ...what, verdict: 'revoked' as const } : {};
  const revokedKeys = withAllRevoked(rest.revokedKeys, [approvedKey, retiringKey], nowMs);
  return [
    draft(revoked, record, { ...what, section: { ...rest, ...words, revokedKeys, decidedAtMs: nowMs } }),
  ];
}

/** A key that waits has credentials too. It hears no, and is taken back: `revoked` follows, as for every denial that takes one. */
function turnDown(
  record: ClusterRecord & { identity: Identity },
  what: Words,
  base: Pick<SectionBase, 'heartbeat' | 'nowMs'>,
): EventDraft[] {
  const { identity, decision } = record;
  const section = denialAfter({ ...base, identity, previous: decision }, what);
  // A key that was in was taken back by the denial; of any other it is its own doing.
  const revokedKeys = withTakenByAgent(section.revokedKeys, [identity.request.key], base.nowMs);
  return [draft(denied, record, { ...what, section: { ...section, revokedKeys } })];
}

/**
 * The key that floods the hub is out, unless somebody has decided about it since; a person can approve it again. Whether it was in
 * or waited, its credentials let it connect again and again.
 */
export function decideFlooding(
  record: ClusterRecord,
  base: Pick<SectionBase, 'heartbeat' | 'nowMs'>,
): EventDraft[] {
  const { decision } = record;
  if (decideRevocation(record).length > 0) return [];
  const isOpen = (flood: Flood) =>
    !isDecidedSince(record, flood, base.nowMs) &&
    !(decision?.revokedKeys.some(({ key }) => key === flood.key) ?? false);
  for (const { key, what } of floodsOf(record).filter(isOpen)) {
    const words = {
      by: { service: 'approver' },
      reason: 'Flooding',
      message: `its agent floods the hub: ${what}`,
    };
    if (decision && [decision.approvedKey, decision.retiringKey].includes(key))
      return takeOut({ ...record, decision }, words, base.nowMs);
    // A ban and a deletion say more than a denial would.
    const isFinal = decision?.verdict === 'banned' || decision?.verdict === 'leaving';
    const asking = currentIdentity(record);
    if (asking?.request.key === key && !isFinal)
      return turnDown({ ...record, identity: asking }, words, base);
  }
  return [];
}

export type FloodParts = BulkParts & {
  readonly log: Pick<EventLog, 'read' | 'append'>;
  readonly heartbeat: Heartbeat;
};

/**
 * Under the same limit as the operations of people: a fault of ours that looks like a flood must not put the fleet out.
 * @param clusterIds - those that may flood
 */
export async function handleFlooding(
  bulk: FloodParts,
  clusterIds: readonly string[],
  trace: Trace,
): Promise<void> {
  await eachOnce(clusterIds, (clusterId) => handleFlood(bulk, clusterId, trace));
}

async function handleFlood(bulk: FloodParts, clusterId: string, trace: Trace): Promise<void> {
  const look = async () => {
    const record = clusterRecord(await bulk.log.read({ kind: 'cluster', id: clusterId }));
    return { record, drafts: decideFlooding(record, { heartbeat: bulk.heartbeat, nowMs: bulk.nowMs() }) };
  };
  await decideAndAppend(
    putOutLog(bulk.log),
    {
      gather: () => gatherBulk(bulk, look),
      decide: (gathered) => (gathered.bulk ? passOrHold(gathered.bulk) : gathered.drafts),
    },
    trace,
  );
}
