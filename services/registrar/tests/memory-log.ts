import {
  type AggregateId,
  clusterRecord,
  type ClusterRecord,
  type EventDraft,
  foldRecord,
  type Head,
  keyAggregate,
  keyRecord,
  nameRecord,
  type StoredEvent,
  tokenRecord,
} from '@rollcall/shared/events';
import type { JoinContext } from '../join/join-case.ts';

const keyOf = ({ kind, id }: AggregateId) => `${kind}.${id}`;

/** For tests: a stream in memory, with the one rule of the true one: an append fits the head it was decided on, or nothing is kept. */
export class MemoryLog {
  readonly events: StoredEvent[] = [];

  read(aggregate: AggregateId) {
    return foldRecord(
      aggregate,
      this.events.filter((event) => keyOf(event) === keyOf(aggregate)),
    );
  }

  cluster(id: string): ClusterRecord {
    return clusterRecord(this.read({ kind: 'cluster', id }));
  }

  joinContext(about: {
    clusterId: string;
    clusterName: string;
    tokenId: string;
    agentKey: string;
    nowMs: number;
  }): JoinContext {
    return {
      cluster: this.cluster(about.clusterId),
      token: tokenRecord(this.read({ kind: 'token', id: about.tokenId })),
      name: nameRecord(this.read({ kind: 'name', id: about.clusterName })),
      key: keyRecord(this.read(keyAggregate(about.agentKey))),
      reservedNames: ['default'],
      nowMs: about.nowMs,
      maxUsesPerTokenPerDay: 10_000,
      maxBytesPerTokenPerDay: 33_554_432,
      bytesLeft: 536_870_912,
      refusalsLeft: 100,
    };
  }

  /** @returns whether it was kept */
  append(drafts: readonly EventDraft[]): boolean {
    const isFree = (head: Head | undefined, aggregate: AggregateId) =>
      this.read(aggregate).head?.sequence === head?.sequence;
    if (!drafts.every((draft) => isFree(draft.head, draft.aggregate))) return false;
    for (const { aggregate, definition, by, reason, message, section } of drafts) {
      const sequence = this.events.length + 1;
      this.events.push({
        ...aggregate,
        type: definition.type,
        definition,
        eventId: `event-${sequence}`,
        sequence,
        timeMs: sequence,
        source: '/rollcall/test',
        traceparent: undefined,
        digest: `sha256:${sequence}`,
        epoch: 1,
        previous: undefined,
        correlation: 'test-correlation',
        by,
        reason,
        message,
        section,
      });
    }
    return true;
  }
}
