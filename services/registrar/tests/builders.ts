import {
  type AggregateId,
  clusterRecord,
  type ClusterRecord,
  type Decision,
  type EventDraft,
  foldRecord,
  type Head,
  nameRecord,
  type StoredEvent,
  type TokenDeclaration,
  tokenRecord,
} from '@rollcall/shared/events';
import type { JoinContext } from '../join-request.ts';

/** For tests: a token's declaration, with overrides. */
export function aDeclaration(overrides: Partial<TokenDeclaration> = {}): TokenDeclaration {
  return {
    publicKey: 'UTOKEN',
    namespace: 'rollcall-join',
    name: 'one',
    uid: 'uid',
    declaredAtMs: 1,
    uses: 1,
    labels: {},
    allowLabels: [],
    withdrawn: false,
    ...overrides,
  };
}

/** For tests: an approver's section, with overrides. */
export function aDecision(overrides: Partial<Decision> = {}): Decision {
  return {
    verdict: 'held',
    clusterName: 'one',
    namespace: 'one',
    labels: {},
    access: 'None',
    namespacePolicy: 'Delete',
    unschedulable: false,
    taints: [],
    heartbeat: { intervalSeconds: 15, graceSeconds: 45 },
    by: { policy: 'p', rule: 'r' },
    reason: 'PolicyDecided',
    message: 'm',
    decidedAtMs: 1,
    revokedKeys: [],
    ...overrides,
  };
}

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
    nowMs: number;
  }): JoinContext {
    return {
      cluster: this.cluster(about.clusterId),
      token: tokenRecord(this.read({ kind: 'token', id: about.tokenId })),
      name: nameRecord(this.read({ kind: 'name', id: about.clusterName })),
      reservedNames: ['default'],
      nowMs: about.nowMs,
      mayStoreRefusal: true,
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
