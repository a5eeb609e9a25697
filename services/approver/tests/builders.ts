import {
  type AggregateRecord,
  type ClusterRecord,
  clusterRecord,
  type Decision,
  type EventDraft,
  foldRecord,
  type Identity,
  type JoinRequest,
  requested,
  type StoredEvent,
} from '@rollcall/shared/events';
import { keyFingerprint } from '@rollcall/shared/trust';

export const nowMs = Date.UTC(2026, 10, 21, 12);
export const heartbeat = { intervalSeconds: 15, graceSeconds: 45 };
export const clusterId = 'c-1';

const list = `[${'0,'.repeat(200)}0]`;
/** Two loops are allowed, and their bodies are as long as an expression may be: it takes seconds, and is true for long names only. */
export const slowForLongNames = `request.clusterName.size() > 30 && ${list}.all(a, ${list}.all(b, ${'request.clusterName.split("").size() > 0 && '.repeat(60)} true))`;

export function aRequest(overrides: Partial<JoinRequest> = {}): JoinRequest {
  const key = overrides.key ?? 'K1';
  return {
    id: 'R1',
    key,
    keyFingerprint: keyFingerprint(key),
    tokenId: 'ut1',
    tokenName: 'rollcall-join/t1',
    labels: { env: 'test' },
    droppedLabels: [],
    claimed: { labels: {} },
    requestedAtMs: nowMs,
    ...overrides,
  };
}

export function anIdentity(overrides: Partial<Identity> = {}): Identity {
  return {
    state: 'requested',
    clusterId,
    clusterName: 'alpha',
    clusterType: 'Standard',
    mode: 'Pull',
    request: aRequest(),
    ...overrides,
  };
}

export function aDecision(overrides: Partial<Decision> = {}): Decision {
  const verdict = overrides.verdict ?? 'approved';
  return {
    verdict,
    requestId: 'R1',
    key: 'K1',
    ...(verdict === 'approved' ? { approvedKey: overrides.key ?? 'K1' } : {}),
    clusterName: 'alpha',
    namespace: 'alpha',
    labels: { env: 'test' },
    access: 'None',
    namespacePolicy: 'Delete',
    unschedulable: false,
    taints: [],
    heartbeat,
    by: { policy: 'default', generation: 1, rule: 'all' },
    reason: 'PolicyApproved',
    message: 'm',
    decidedAtMs: nowMs - 1000,
    revokedKeys: [],
    ...overrides,
  };
}

/** An event as it would come out of the stream, at the given sequence. */
export function stored(draft: EventDraft, sequence: number): StoredEvent {
  return {
    ...draft.aggregate,
    type: draft.definition.type,
    definition: draft.definition,
    eventId: `e${sequence}`,
    sequence,
    timeMs: nowMs,
    source: 'test',
    traceparent: undefined,
    digest: `sha256:${sequence}`,
    epoch: 1,
    previous: undefined,
    correlation: 'R1',
    by: draft.by,
    reason: draft.reason,
    message: draft.message,
    section: draft.section,
  };
}

/** A cluster's history that decisions can be applied to. */
export class History {
  readonly events: StoredEvent[] = [];
  get record(): ClusterRecord {
    return clusterRecord(this.folded);
  }
  private get folded(): AggregateRecord {
    return foldRecord({ kind: 'cluster', id: clusterId }, this.events);
  }
  apply(drafts: readonly EventDraft[]): readonly EventDraft[] {
    for (const draft of drafts) this.events.push(stored(draft, this.events.length + 1));
    return drafts;
  }
  identity(section: Identity): this {
    this.apply([
      {
        definition: requested,
        aggregate: { kind: 'cluster', id: clusterId },
        head: undefined,
        reason: 'R',
        message: 'm',
        section,
      },
    ]);
    return this;
  }
}

/** A record with these sections, the decision written by the given event. */
export function aRecord(
  identity: Identity,
  decision?: { definition: EventDraft['definition']; section: Decision },
): ClusterRecord {
  const history = new History().identity(identity);
  if (decision) {
    history.apply([
      {
        aggregate: { kind: 'cluster', id: clusterId },
        head: undefined,
        reason: 'R',
        message: 'm',
        ...decision,
      },
    ]);
  }
  return history.record;
}
