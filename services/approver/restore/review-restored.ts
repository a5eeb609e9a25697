import { type EventLog, readEpoch } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import { RollcallError } from '@rollcall/shared/errors';
import {
  clusterRecord,
  createEventId,
  draft,
  type EventDraft,
  type EpochRecord,
  mostSpentInEvent,
  restoreReviewed,
  spentAggregate,
  spentNoted,
  spentPart,
} from '@rollcall/shared/events';
import { type KubeClient, resources, type StoredObject } from '@rollcall/shared/kubernetes';
import type { ClusterRegistrationRequest, ManagedCluster } from '@rollcall/shared/resources';
import type { Logger } from '@rollcall/shared/service';
import type { Heartbeat } from '../decision/decision-section.ts';
import { clusterIdOfObject, type ClusterObject } from '../people/cluster-change.ts';
import { type Review, reviewProjection, spentWords } from './restored-projection.ts';

export interface ReviewParts {
  readonly log: EventLog;
  readonly client: Pick<KubeClient, 'list'>;
  readonly logger: Logger;
  readonly heartbeat: Heartbeat;
  nowMs(): number;
}

/** Side by side: with ten thousand clusters one after the other would take half a minute. */
const atOnce = 16;

interface Projections {
  readonly requests: ReadonlyMap<string, StoredObject<ClusterRegistrationRequest>>;
  readonly clusters: ReadonlyMap<string, ClusterObject>;
  readonly outKeys: ReadonlySet<string>;
}

async function readProjections({ client }: ReviewParts, outKeys: readonly string[]): Promise<Projections> {
  const [requests, clusters] = await Promise.all([
    client.list<ClusterRegistrationRequest>(resources.clusterRegistrationRequests),
    client.list<ManagedCluster>(resources.managedClusters),
  ]);
  const withId = clusters.flatMap((object) => {
    const id = clusterIdOfObject(object);
    return id === undefined ? [] : [[id, object] as const];
  });
  return {
    requests: new Map(requests.map((object) => [object.metadata.name, object])),
    clusters: new Map(withId),
    outKeys: new Set(outKeys),
  };
}

/** Of a cluster that has left Kubernetes shows nothing: where any key is out, all that the history knows are looked at. */
async function idsToReview(
  log: EventLog,
  { requests, clusters, outKeys }: Projections,
): Promise<Set<string>> {
  const ids = new Set([...requests.keys(), ...clusters.keys()]);
  if (outKeys.size > 0) for await (const { id } of log.aggregates(['cluster'])) ids.add(id);
  return ids;
}

interface Reviewed {
  readonly review: Review | undefined;
  readonly spent: readonly string[];
}

async function reviewOne(parts: ReviewParts, id: string, projections: Projections): Promise<Reviewed> {
  const { log, logger, heartbeat } = parts;
  let review: Review | undefined;
  let spent: readonly string[] = [];
  await decideAndAppend(
    log,
    {
      async gather() {
        const record = clusterRecord(await log.read({ kind: 'cluster', id }));
        return {
          record,
          request: projections.requests.get(id),
          cluster: projections.clusters.get(id),
          outKeys: projections.outKeys,
          heartbeat,
          nowMs: parts.nowMs(),
        };
      },
      decide(projection) {
        review = reviewProjection(projection);
        spent = spentWords(projection, review);
        return review ? [review.draft] : [];
      },
    },
    { correlation: createEventId(parts.nowMs()) },
  );
  if (review && review.kind !== 'noted')
    logger.warn({ clusterId: id, reason: review.draft.reason, state: review.kind }, review.draft.message);
  return { review, spent };
}

interface Findings {
  takenBack: number;
  held: number;
  readonly spent: string[];
}

/**
 * All or nothing: of two replicas that look at the same time the other one may have found less, because what this one found is on
 * the record of its cluster by then, so their parts must not be mixed.
 */
async function sayReviewed(log: EventLog, findings: Findings): Promise<void> {
  const { takenBack, held } = findings;
  const spent = findings.spent.toSorted();
  const parts: string[][] = [];
  for (let from = mostSpentInEvent; from < spent.length; from += mostSpentInEvent)
    parts.push(spent.slice(from, from + mostSpentInEvent));
  const by = { service: 'approver' };
  await decideAndAppend(
    log,
    {
      gather: async () => ({
        record: await readEpoch(log),
        noted: await Promise.all(
          parts.map((_part, at) => log.read(spentAggregate(at), { unknownAsGarbage: true })),
        ),
      }),
      decide({ record, noted }) {
        const { restored, isReviewed } = record;
        if (!restored || isReviewed) return [];
        const { epoch } = restored;
        const drafts: EventDraft[] = noted.map((part, at) => {
          const message = `part ${at + 1} of ${parts.length} of what people said before the restore and counts no more`;
          return draft(spentNoted, part, {
            by,
            reason: 'Reviewed',
            message,
            section: { epoch, spent: parts[at] ?? [] },
          });
        });
        const message = `what Kubernetes showed was looked at: ${takenBack} clusters taken back again, ${held} decisions held`;
        const section = {
          epoch,
          takenBack,
          held,
          spent: spent.slice(0, mostSpentInEvent),
          ...(parts.length === 0 ? {} : { spentParts: parts.length }),
        };
        return [...drafts, draft(restoreReviewed, record, { by, reason: 'Reviewed', message, section })];
      },
    },
    { correlation: 'restore' },
  );
}

/** @throws RollcallError EVENT_INVALID where a part is not there: what stands in it would count again */
async function withAllSpent(log: Pick<EventLog, 'read'>, record: EpochRecord): Promise<EpochRecord> {
  const { restored, spentParts } = record;
  if (!restored) return record;
  const spent = [...record.spent];
  for (let part = 0; part < spentParts; part++) {
    const words = spentPart(await log.read(spentAggregate(part)), restored.epoch);
    if (!words)
      throw new RollcallError(
        'EVENT_INVALID',
        `part ${part + 1} of ${spentParts} of what counts no more since the restore is not in the history`,
      );
    spent.push(...words);
  }
  return { ...record, spent };
}

/**
 * Before a restored hub decides anything, it looks once at everything that Kubernetes shows, and at the keys that the servers refuse:
 * they may know of what was taken back after the backup (ADR 15). Nothing is done in a hub that was never restored, or has done so.
 * @throws RollcallError KUBE_UNREACHABLE and others: without having looked, nothing may be decided; to be tried again.
 *   EVENT_VERSION_UNKNOWN where a newer version has looked
 */
export async function reviewRestored(parts: ReviewParts): Promise<EpochRecord> {
  const { log, logger } = parts;
  const record = await readEpoch(log);
  // What counts no more stands in that word: who cannot read it would act on it.
  if (record.isReviewed && record.unreadable !== undefined)
    throw new RollcallError(
      'EVENT_VERSION_UNKNOWN',
      `event ${record.unreadable} says what the hub was restored from, and only a newer version can read it`,
    );
  if (record.isReviewed) return withAllSpent(log, record);
  const projections = await readProjections(parts, record.restored?.outKeys ?? []);
  const ids = await idsToReview(log, projections);
  const findings: Findings = { takenBack: 0, held: 0, spent: [] };
  const queue = ids.values();
  const work = async () => {
    for (const id of queue) {
      const { review, spent } = await reviewOne(parts, id, projections);
      if (review?.kind === 'taken back') findings.takenBack++;
      if (review?.kind === 'held') findings.held++;
      findings.spent.push(...spent);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  await sayReviewed(log, findings);
  logger.info({ count: ids.size }, 'what Kubernetes showed before the restore was looked at');
  return withAllSpent(log, await readEpoch(log));
}
