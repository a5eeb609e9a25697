import {
  type Access,
  accessSchema,
  approved,
  type ClusterRecord,
  clusterRecord,
  type Cut,
  cut,
  decodeEvent,
  draft,
  encodeEvent,
  type EventDefinition,
  foldRecord,
  type Decision,
  type Identity,
  type Liveness,
  joined,
  provisioned,
  requested,
  type StoredEvent,
} from '@rollcall/shared/events';

export const clusterId = '5b1c9a52-0000-4000-8000-000000000001';
/** 2026-01-01T00:00:00Z; the n-th event happens n seconds later. */
export const startMs = Date.UTC(2026, 0, 1);

export function anIdentity(more: Partial<Identity> = {}): Identity {
  return {
    state: 'requested',
    clusterId,
    clusterName: 'blue',
    clusterType: 'Standard',
    mode: 'Pull',
    request: {
      id: 'request-1',
      key: 'KEY1',
      keyFingerprint: 'aaaa-bbbb-cccc-dddd',
      tokenId: 'token-1',
      tokenName: 'rollcall-join/first',
      labels: {},
      droppedLabels: [],
      claimed: { kubernetesVersion: 'v1.36.3', labels: { team: 'a' } },
      requestedAtMs: startMs,
    },
    ...more,
  };
}

export function aDecision(more: Partial<Decision> = {}): Decision {
  const isIn = (more.verdict ?? 'approved') === 'approved';
  return {
    verdict: 'approved',
    requestId: 'request-1',
    key: 'KEY1',
    ...(isIn ? { approvedKey: 'KEY1' } : {}),
    clusterName: 'blue',
    namespace: 'blue',
    labels: { team: 'a' },
    access: 'None',
    namespacePolicy: 'Delete',
    unschedulable: false,
    taints: [],
    heartbeat: { intervalSeconds: 15, graceSeconds: 60 },
    by: { policy: 'default', generation: 1, rule: 'valid-token' },
    reason: 'PolicyApproved',
    message: 'the token is valid',
    decidedAtMs: startMs + 2000,
    revokedKeys: [],
    ...more,
  };
}

export function anAccess(more: Partial<Access> = {}): Access {
  return accessSchema.parse({
    state: 'provisioned',
    namespace: 'blue',
    requestId: 'request-1',
    atMs: startMs,
    ...more,
  });
}

export function aLiveness(more: Partial<Liveness> = {}): Liveness {
  const atMs = startMs + 4000;
  return {
    state: 'ready',
    key: 'KEY1',
    cause: 'Alive',
    joinedAtMs: atMs,
    sinceMs: atMs,
    lastHeartbeatAtMs: atMs,
    ...more,
  };
}

export const member = { state: 'admitted', admittedKey: 'KEY1', admittedAtMs: startMs + 3000 } as const;

/** One event as the stream has it: through the real encoding, so that every section fits its schema. */
export function anEvent(
  definition: EventDefinition,
  section: unknown,
  sequence: number,
  epoch = 1,
): StoredEvent {
  const timeMs = startMs + sequence * 1000;
  const aggregate = { kind: definition.kind, id: definition.kind === 'cluster' ? clusterId : 'one' };
  const encoded = encodeEvent(
    { ...draft(definition, { aggregate, head: undefined }, { reason: 'Test', message: 'test', section }) },
    { epoch, source: '/rollcall/test', nowMs: timeMs, correlation: 'test-correlation' },
  );
  return decodeEvent({
    subject: encoded.subject,
    sequence,
    header: (name) => encoded.headers[name] ?? '',
    data: encoded.body,
  });
}

export interface Sections {
  readonly identity?: Identity;
  readonly decision?: Decision;
  readonly access?: Access;
  readonly liveness?: Liveness;
  readonly cut?: Cut;
}

/** The events of these sections, in the order of a join. */
export function clusterEvents({
  identity,
  decision,
  access,
  liveness,
  cut: section,
}: Sections): StoredEvent[] {
  return [
    ...(identity ? [anEvent(requested, identity, 1)] : []),
    ...(decision ? [anEvent(approved, decision, 2)] : []),
    ...(access ? [anEvent(provisioned, access, 3)] : []),
    ...(liveness ? [anEvent(joined, liveness, 4)] : []),
    ...(section ? [anEvent(cut, section, 5)] : []),
  ];
}

export function aRecord(sections: Sections): ClusterRecord {
  return clusterRecord(foldRecord({ kind: 'cluster', id: clusterId }, clusterEvents(sections)));
}

/** The sections of a cluster that has joined. */
export function aMember(more: Sections = {}): Sections {
  return {
    identity: anIdentity(member),
    decision: aDecision(),
    access: anAccess(),
    liveness: aLiveness(),
    ...more,
  };
}
