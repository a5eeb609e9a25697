import {
  changed,
  cordoned,
  type ClusterRecord,
  type Decision,
  type EventDefinition,
  type Head,
  isNewer,
  predefined,
  type StoredEvent,
  uncordoned,
} from '@rollcall/shared/events';
import { labels, type ManagedCluster } from '@rollcall/shared/resources';
import { isReservedLabel } from '@rollcall/shared/resources/label-syntax';

/** What is to be known of an event of the past. */
export type PastEvent = Pick<StoredEvent, 'definition' | 'section' | 'by' | 'epoch' | 'sequence'>;

/** What follows from the ManagedCluster itself: labels and set of these stood on it already. */
const readFromObject: ReadonlySet<EventDefinition> = new Set([changed, cordoned, uncordoned, predefined]);

const isDecision = ({ definition }: PastEvent) => definition.writer === 'approver';

/** Whether people give this label: the set is one of theirs, although its name is ours. */
export function isOfPeople(label: string): boolean {
  return label === labels.clusterSet || !isReservedLabel(label);
}

function labelsOf({ section }: PastEvent): Readonly<Record<string, string | undefined>> {
  const { labels: given, clusterSet } = section as Decision;
  return { ...given, [labels.clusterSet]: clusterSet };
}

/**
 * The decision up to which the object has what was given. One that shows none yet was made by us after its cluster was let in, or
 * by a person before anything was given.
 */
export function shownUpTo(
  { metadata, status }: Pick<ManagedCluster, 'metadata' | 'status'>,
  { decision }: ClusterRecord,
  history: readonly PastEvent[],
): Pick<Head, 'epoch' | 'sequence'> {
  const nothing = { epoch: 0, sequence: 0 };
  if (status?.observed) return status.observed;
  if (metadata.labels?.[labels.createdBy] !== 'projector') return nothing;
  const letIn = history.filter(isDecision).find(({ section }) => {
    const { approvedKey, requestId } = section as Decision;
    return approvedKey !== undefined && requestId === decision?.requestId;
  });
  return letIn ?? nothing;
}

/**
 * Labels, the set among them, that token, policy or a restored hub have given since the object was written. Only these are to be
 * written: every other one says what a person wants, who may have said it again since the approver heard it last.
 * @param history - all events of the cluster, oldest first
 */
export function givenSince(
  history: readonly PastEvent[],
  shown: Pick<Head, 'epoch' | 'sequence'>,
): ReadonlySet<string> {
  const given = new Set<string>();
  let before: PastEvent | undefined;
  for (const event of history.filter(isDecision)) {
    const [was, is] = [before ? labelsOf(before) : {}, labelsOf(event)];
    const isRead = readFromObject.has(event.definition) && event.by?.person !== undefined;
    // What a restored hub knows counts, whatever was shown by events that are lost.
    const isOtherLife = before !== undefined && event.epoch !== before.epoch;
    for (const label of Object.keys(is)) {
      if (is[label] === was[label] && (isRead || !isOtherLife)) continue;
      if (isRead) given.delete(label);
      else if (isNewer(event, shown)) given.add(label);
    }
    before = event;
  }
  return given;
}
