import {
  changed,
  cordoned,
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
 * The decision up to which the object has what was given, where that is known without the history; undefined: the first that held
 * or approved the request of now, if there is one. An object that shows no decision yet was made by us then, or by a person before
 * anything was given.
 */
export function shownUpTo({
  metadata,
  status,
}: Pick<ManagedCluster, 'metadata' | 'status'>): Pick<Head, 'epoch' | 'sequence'> | undefined {
  if (status?.observed) return status.observed;
  return metadata.labels?.[labels.createdBy] === 'projector' ? undefined : { epoch: 0, sequence: 0 };
}

/**
 * Labels, the set among them, that token, policy or a restored hub have given since the object was written. Only these are to be
 * written: every other one says what a person wants, who may have said it again since the approver heard it last. Of the history
 * no more is kept than the decision before.
 */
export class GivenLabels {
  readonly #shown: Pick<Head, 'epoch' | 'sequence'> | undefined;
  readonly #requestId: string | undefined;
  readonly #given = new Set<string>();
  #before: PastEvent | undefined;
  #isMade = false;

  /** @param requestId - the one of now */
  constructor(shown: Pick<Head, 'epoch' | 'sequence'> | undefined, requestId: string | undefined) {
    this.#shown = shown;
    this.#requestId = requestId;
  }

  /** Whether there is a decision to compare the next one with. */
  get hasBegun(): boolean {
    return this.#before !== undefined;
  }

  /** @returns whether the object shows it, as far as is known by now */
  isShown(event: PastEvent): boolean {
    return this.#shown !== undefined && !isNewer(event, this.#shown);
  }

  /** Oldest first; events of others are none of it. */
  add(event: PastEvent): void {
    if (!isDecision(event)) return;
    const before = this.#before;
    const [was, is] = [before ? labelsOf(before) : {}, labelsOf(event)];
    const isRead = readFromObject.has(event.definition) && event.by?.person !== undefined;
    // What a restored hub knows counts, whatever was shown by events that are lost.
    const isOtherEpoch = before !== undefined && event.epoch !== before.epoch;
    for (const label of Object.keys(is)) {
      if (is[label] === was[label] && (isRead || !isOtherEpoch)) continue;
      if (isRead) this.#given.delete(label);
      else if (!this.isShown(event)) this.#given.add(label);
    }
    this.#before = event;
    if (this.#shown === undefined) this.#noteMade(event);
  }

  /** It was made with what was given until then: when its request began to wait, or was approved. */
  #noteMade({ section }: PastEvent): void {
    const { approvedKey, requestId, verdict } = section as Decision;
    const isMade = approvedKey !== undefined || verdict === 'held';
    if (this.#isMade || !isMade || requestId !== this.#requestId) return;
    this.#isMade = true;
    this.#given.clear();
  }

  get labels(): ReadonlySet<string> {
    return this.#given;
  }
}
