import { isDeepStrictEqual } from 'node:util';
import {
  type Access,
  type AggregateId,
  type AggregateRecord,
  clusterRecord,
  type ClusterRecord,
  type Decision,
  type EventDraft,
  foldRecord,
  type Identity,
  type Liveness,
  livenessStateOf,
  keyAggregate,
  keyRecord,
  nameRecord,
  type PolicyDeclaration,
  type StoredEvent,
  tokenRecord,
} from '@rollcall/shared/events';
import { keyFingerprint } from '@rollcall/shared/trust';
import { decideRotationEnd } from '../../services/approver/decision/key-rotated.ts';
import { decidePersonDecision } from '../../services/approver/people/person-decision.ts';
import { decideRequest } from '../../services/approver/requests/decide-request.ts';
import { type PolicyOutcome } from '../../services/approver/requests/judgement.ts';
import {
  decideNameRelease,
  decideRevocation,
} from '../../services/approver/decision/events-after-decision.ts';
import type { LivenessCause } from '../../services/heartbeat/engine/judge-liveness.ts';
import { decideLiveness } from '../../services/heartbeat/members/decide-liveness.ts';
import { accessEvents } from '../../services/rbac-provisioner/access/access-event.ts';
import { admissionStep } from '../../services/registrar/members/follow-decisions.ts';
import { judgeRotation } from '../../services/registrar/members/key-rotation.ts';
import { plain } from '../../services/projector/desired/difference.ts';
import { claimsChanged } from '../../services/registrar/join/join-claims.ts';
import { judgeJoin } from '../../services/registrar/join/judge-join.ts';
import { asAttempt } from '../../services/registrar/tests/token-holders.ts';

type Again = (event: StoredEvent, history: History) => readonly EventDraft[] | undefined;

const nameOf = ({ kind, id }: AggregateId) => `${kind}.${id}`;

/** The stream as it was before an event. */
class History {
  readonly #events = new Map<string, StoredEvent[]>();
  readonly #records = new Map<string, AggregateRecord>();
  add(event: StoredEvent): void {
    const name = nameOf(event);
    const events = this.#events.get(name);
    if (events) events.push(event);
    else this.#events.set(name, [event]);
    this.#records.set(name, foldRecord(event, [...Object.values(this.record(event).lastOf), event]));
  }
  record(aggregate: AggregateId): AggregateRecord {
    return this.#records.get(nameOf(aggregate)) ?? foldRecord(aggregate, []);
  }
  cluster(id: string): ClusterRecord {
    return clusterRecord(this.record({ kind: 'cluster', id }));
  }
  eventsOf(aggregate: AggregateId): readonly StoredEvent[] {
    return this.#events.get(nameOf(aggregate)) ?? [];
  }
}

/** What a policy said stands in the event, so that nothing is evaluated again (principle 3). */
function outcomeOf(event: StoredEvent, decision: Decision, history: History): PolicyOutcome {
  const { policy, generation, rule } = decision.by;
  if (decision.reason === 'PolicyTimeout') {
    return { kind: 'timeout', deadlineMs: Number(/longer than (\d+) ms/.exec(event.message)?.[1] ?? 0) };
  }
  if (policy === undefined || rule === undefined || generation === undefined)
    return { kind: 'evaluated', matches: [], failures: [] };
  if (decision.reason === 'PolicyError') {
    const message = /failed: (.*); a person with create/s.exec(event.message)?.[1] ?? '';
    return { kind: 'evaluated', matches: [], failures: [{ policy, generation, rule, message }] };
  }
  const declared = history
    .eventsOf({ kind: 'policy', id: policy })
    .map(({ section }) => section as PolicyDeclaration)
    .findLast((one) => one.generation === generation && one.rules.some(({ name }) => name === rule));
  const found = declared?.rules.find(({ name }) => name === rule);
  return { kind: 'evaluated', matches: found ? [{ policy, generation, rule: found }] : [], failures: [] };
}

const judged: Again = (event, history) => {
  const record = history.cluster(event.id);
  const decision = event.section as Decision;
  const { heartbeat, decidedAtMs: nowMs } = decision;
  if (event.by?.person === undefined) {
    return decideRequest({ record, outcome: outcomeOf(event, decision, history), heartbeat, nowMs });
  }
  // What a person changes in a ManagedCluster follows from an object that no event carries.
  if (event.reason !== 'PersonApproved' && event.reason !== 'PersonDenied') return undefined;
  const said = event.message.split(': ').slice(1).join(': ');
  const spoken = {
    verdict: event.type === 'approved' ? 'Approve' : 'Deny',
    keyFingerprint: keyFingerprint(decision.key ?? ''),
    by: event.by.person,
    reason: said === '' ? undefined : said,
    digest: decision.actedOn ?? '',
    shown: record.lastOf.approver,
  } as const;
  return decidePersonDecision({ record, decision: spoken, heartbeat, nowMs });
};

const rotationAsked = (identity: Identity, history: History): readonly EventDraft[] => {
  const { id, key: newKey, rotation, signedAtMs = 0, requestedAtMs: nowMs } = identity.request;
  const request = { id, newKey, signedAtMs, agentKey: rotation?.from ?? '' };
  const proof = rotation?.proof ?? { signed: '', signatures: {} };
  const record = history.cluster(identity.clusterId);
  const known = keyRecord(history.record(keyAggregate(newKey)));
  // Of one append, the first is the request.
  return judgeRotation({ ...request, proof }, { record, newKey: known, nowMs, isFull: false }).drafts.slice(
    0,
    1,
  );
};

const asked: Again = (event, history) => {
  const identity = event.section as Identity;
  if (identity.request.rotation !== undefined) return rotationAsked(identity, history);
  const { request, clusterId, clusterName, clusterType, mode } = identity;
  const { nodesTotal, labels, ...claimed } = request.claimed;
  const token = tokenRecord(history.record({ kind: 'token', id: request.tokenId }));
  const facts = {
    ...claimed,
    ...(nodesTotal === undefined ? {} : { nodes: { total: nodesTotal, ready: 0, schedulable: 0 } }),
  };
  const body = {
    clusterId,
    ...(identity.clientId === undefined ? {} : { clientId: identity.clientId }),
    clusterName,
    clusterType,
    mode,
    tokenKey: token.declaration?.publicKey ?? '',
    labels,
    facts: facts as Parameters<typeof judgeJoin>[0]['body']['facts'],
  };
  const cluster = history.cluster(clusterId);
  // A request that was refused before may have the same id, and is a new one.
  const isAgain = event.reason === claimsChanged;
  const verdict = judgeJoin(
    asAttempt({
      id: request.id,
      agentKey: request.key,
      tokenProven: true,
      ...(request.signedAtMs === undefined ? {} : { signedAtMs: request.signedAtMs }),
      body,
    }),
    {
      cluster,
      token,
      name: nameRecord(history.record({ kind: 'name', id: clusterName })),
      key: keyRecord(history.record(keyAggregate(request.key))),
      member: request.member,
      reservedNames: [],
      nowMs: isAgain
        ? Math.min(event.timeMs, (request.signedAtMs ?? event.timeMs) + 60_000)
        : request.requestedAtMs,
      maxUsesPerTokenPerDay: 10_000,
      maxBytesPerTokenPerDay: 33_554_432,
      bytesLeft: 536_870_912,
      refusalsLeft: 100,
    },
  );
  return verdict.drafts.slice(0, 1);
};

/** What the simulated services are set to; the same in what is decided once more. */
export const flap = { losses: 4, windowMs: 600_000 };

const lived: Again = (event, history) => {
  const record = history.cluster(event.id);
  const section = event.section as Liveness;
  const { sinceMs, lastHeartbeatAtMs, joinedAtMs } = section;
  const from = event.type === 'joined' ? 'neverSeen' : livenessStateOf(record.liveness);
  const after = livenessStateOf(section);
  if (after === 'neverSeen') return undefined;
  // A cluster flaps because it came back.
  const found =
    after === 'flapping'
      ? ({ state: 'ready', cause: 'Alive' } as const)
      : { state: after, cause: section.cause as LivenessCause };
  const finding = { ...found, from, nowMs: sinceMs, lastHeartbeatAtMs, flap };
  // The clock of the registrar may have been ahead of it.
  return joinedAtMs > sinceMs && event.type !== 'joined' ? undefined : decideLiveness(record, finding);
};

const accessed: Again = (event, history) => {
  const { namespace, requestId, atMs, error, serviceAccount, uids } = event.section as Access;
  const failure =
    error === undefined
      ? undefined
      : { reason: event.reason as 'Refused', code: 'KUBE_API' as const, message: error.message };
  const result =
    event.type === 'deprovisioned'
      ? ({ step: 'deprovision', namespace, requestId } as const)
      : ({
          step: serviceAccount === undefined ? 'provision' : 'give-access',
          namespace,
          requestId,
          failure,
          isWithdrawn: event.reason === 'AccessWithdrawn',
          isMadeAgain: event.reason === 'MadeAgain',
          uids,
        } as const);
  return accessEvents({ record: history.cluster(event.id), nowMs: atMs, result });
};

const deciders: Readonly<Record<string, Again>> = {
  'cluster.requested': asked,
  'cluster.admitted': (event, history) =>
    admissionStep({
      record: history.cluster(event.id),
      nowMs: (event.section as Identity).admittedAtMs ?? 0,
    }),
  'cluster.left': (event, history) =>
    admissionStep({ record: history.cluster(event.id), nowMs: event.timeMs }),
  'cluster.approved': judged,
  'cluster.held': judged,
  'cluster.denied': judged,
  'cluster.revoked': (event, history) =>
    // With that verdict it is an operation of its own; else it follows from the decision before it, or ends a rotation.
    (event.section as Decision).verdict === 'revoked'
      ? undefined
      : event.reason === 'KeyRotated'
        ? decideRotationEnd(
            history.cluster(event.id),
            (event.section as Decision).revokedKeys.at(-1)?.atMs ?? 0,
          )
        : decideRevocation(history.cluster(event.id)),
  'cluster.provisioned': accessed,
  'cluster.deprovisioned': accessed,
  'cluster.joined': lived,
  'cluster.ready': lived,
  'cluster.suspect': lived,
  'cluster.unreachable': lived,
  'cluster.stopped': lived,
  'cluster.member-down': lived,
  'cluster.flapping': lived,
  'name.released': (event, history) => {
    const name = nameRecord(history.record(event));
    return decideNameRelease({ name, cluster: history.cluster(name.holder ?? '') });
  },
};

/** Whether they are the same once they are written down. */
function isSameStored(a: object, b: object): boolean {
  return isDeepStrictEqual(plain(a), plain(b));
}

/**
 * Runs today's decisions over a recorded stream: each event is decided once more from what stood before it.
 * @returns where another outcome would follow now, in words; events that follow from more than the stream are passed over
 */
export function replayDifferences(events: readonly StoredEvent[]): string[] {
  const history = new History();
  const differences: string[] = [];
  for (const event of events) {
    const drafts = deciders[`${event.kind}.${event.type}`]?.(event, history);
    if (drafts) {
      const again = drafts.map(({ definition, reason, section }) => ({
        type: definition.type,
        reason,
        section,
      }));
      const then = [{ type: event.type, reason: event.reason, section: event.section }];
      if (!isSameStored(again, then)) {
        const now = JSON.stringify(again);
        differences.push(
          `event ${event.sequence} (${event.id} ${event.type}) was ${JSON.stringify(then)}, now it is ${now}`,
        );
      }
    }
    history.add(event);
  }
  return differences;
}
