import type { EventLog } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import { type ClusterRecord, clusterRecord, type Decision, type Identity } from '@rollcall/shared/events';
import { keyFingerprint } from '@rollcall/shared/trust';

/** A record as people's words are judged by. */
export interface PeoplesRecord extends ClusterRecord {
  /** Nothing that the registrar says last can be believed: `identity` is what the approver has decided about. Only what puts a member out follows. */
  readonly isBlind?: true;
}

/** Who is in, as the approver's own section has it: enough to put it out. */
function identityDecided(decision: Decision, clusterId: string): Identity | undefined {
  const { requestId, key, approvedKey, clusterName, decidedAtMs } = decision;
  if (requestId === undefined || key === undefined || approvedKey === undefined) return undefined;
  return {
    state: 'admitted',
    clusterId,
    clusterName,
    clusterType: 'Standard',
    mode: 'Pull',
    request: {
      id: requestId,
      key,
      keyFingerprint: keyFingerprint(key),
      tokenId: 'none',
      tokenName: '',
      labels: {},
      droppedLabels: [],
      claimed: { labels: {} },
      requestedAtMs: decidedAtMs,
    },
  };
}

/** While a key is in, its cluster has asked, and has neither been refused nor left: the approver has taken no key back. */
function isDenied({ identity, decision }: ClusterRecord): boolean {
  const isThere = identity !== undefined && identity.state !== 'refused' && identity.state !== 'left';
  return decision?.approvedKey !== undefined && !isThere;
}

function blind(record: ClusterRecord): PeoplesRecord | undefined {
  const identity = record.decision && identityDecided(record.decision, record.aggregate.id);
  return identity && { ...record, identity, isBlind: true };
}

/**
 * The record of a cluster about which people want something. A stolen registrar may write over all that it has said: garbage, an event of
 * a version that nobody knows, or that the member was refused. Nobody must be kept from putting that member out.
 * @throws RollcallError EVENT_VERSION_UNKNOWN where nobody is in, or what the approver said last cannot be read
 */
export async function readForPeople(log: Pick<EventLog, 'read'>, id: string): Promise<PeoplesRecord> {
  const aggregate = { kind: 'cluster', id } as const;
  try {
    const record = clusterRecord(await log.read(aggregate));
    return (isDenied(record) ? blind(record) : undefined) ?? record;
  } catch (error) {
    if (!(error instanceof RollcallError) || error.code !== 'EVENT_VERSION_UNKNOWN') throw error;
    const known = blind(clusterRecord(await log.read(aggregate, { unknownAsGarbage: 'registrar' })));
    if (known) return known;
    throw error;
  }
}
