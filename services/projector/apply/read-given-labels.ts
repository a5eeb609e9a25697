import type { EventLog, SkippedEvent } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import { type ClusterRecord, eventCatalogue } from '@rollcall/shared/events';
import { GivenLabels, shownUpTo } from '../desired/given-labels.ts';
import type { ShownCluster } from './projection-context.ts';

const decisions: ReadonlySet<string> = new Set(
  eventCatalogue.flatMap(({ kind, type, writer }) =>
    kind === 'cluster' && writer === 'approver' ? [type] : [],
  ),
);
const isDecision = ({ type }: SkippedEvent) => decisions.has(type);

/** Of the stream, before what the object shows; there the decision is looked for that the next one is compared with. */
const firstStepBack = 1000;
const stepBackGrows = 8;

/**
 * Reads which labels were given since the object was written. From what it shows on, and of that the decisions only, one by one: a
 * member that was stolen has gigabytes of history. Of an earlier epoch of the hub, or without a status, all decisions.
 * @throws RollcallError BUS_UNREACHABLE where the server that answers has not the newest decision yet
 */
export async function readGivenLabels(
  log: Pick<EventLog, 'scan'>,
  { aggregate, decision, lastOf: { approver: newest } }: ClusterRecord,
  current: ShownCluster,
): Promise<ReadonlySet<string>> {
  const filter = `cluster.${aggregate.id}.*`;
  const shown = shownUpTo(current);
  const isOfThisEpoch = shown !== undefined && shown.sequence > 0 && shown.epoch === newest?.epoch;
  for (let back = firstStepBack; ; back *= stepBackGrows) {
    const fromSequence = isOfThisEpoch ? Math.max(1, shown.sequence - back) : 1;
    const given = new GivenLabels(shown, decision?.requestId);
    let isWhole = false;
    let isTooShort = false;
    for await (const event of log.scan({ filter, fromSequence, isWanted: isDecision })) {
      isTooShort = fromSequence > 1 && !given.hasBegun && !given.isShown(event);
      if (isTooShort) break;
      given.add(event);
      isWhole ||= event.sequence === newest?.sequence;
    }
    if (isTooShort) continue;
    if (isWhole) return given.labels;
    const why = 'the history cannot be read: the servers that answer are behind';
    throw new RollcallError('BUS_UNREACHABLE', why);
  }
}
