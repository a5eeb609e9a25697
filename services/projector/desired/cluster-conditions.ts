import type { Facts } from '@rollcall/shared/bus';
import {
  agentAwaitedUntilMs,
  type ClusterRecord,
  type EventWriter,
  livenessOf,
  type PredefinedObstacle,
} from '@rollcall/shared/events';
import { asReason } from '@rollcall/shared/resources/condition-reason';
import { hasLeft, isKeyRevoked, registrationPhaseOf, type RegistrationPhase } from './registration-phase.ts';
import type { Judged } from './condition-list.ts';
import { hostedCondition } from './hosted-condition.ts';
import { hubTime } from './hub-time.ts';

/** What the conditions of a ManagedCluster are judged from. */
export interface ClusterProjection {
  readonly record: ClusterRecord;
  readonly facts: Facts | undefined;
  /** Whether the object in the API server has been deleted and waits for our finalizer. */
  readonly isDeletionAsked: boolean;
  /** Why nothing that a person changes in a predefined cluster counts. */
  readonly obstacle?: PredefinedObstacle | undefined;
}

/** Hub time of the newest event of a writer, else of the whole record. */
function timeOf({ record }: ClusterProjection, writer: EventWriter): number {
  return record.lastOf[writer]?.timeMs ?? record.newest?.timeMs ?? 0;
}

const acceptedStatus = {
  accepted: 'True',
  undecided: 'Unknown',
  denied: 'False',
  revoked: 'False',
  banned: 'False',
  leaving: 'False',
  left: 'False',
} as const satisfies Record<RegistrationPhase, Judged['status']>;

const phaseReason = {
  accepted: 'Approved',
  undecided: 'Undecided',
  denied: 'Denied',
  revoked: 'Revoked',
  banned: 'Banned',
  leaving: 'Leaving',
  left: 'Left',
} as const satisfies Record<RegistrationPhase, string>;

function accepted(projection: ClusterProjection): Judged {
  const { decision } = projection.record;
  const phase = registrationPhaseOf(projection.record);
  if (projection.obstacle)
    return {
      type: 'Accepted',
      status: 'False',
      ...projection.obstacle,
      atMs: timeOf(projection, 'approver'),
    };
  // A held or denied other key says nothing about the member: then the approval that let it in is no longer at hand.
  const isHere = decision?.verdict === 'approved' || phase !== 'accepted';
  return {
    type: 'Accepted',
    status: acceptedStatus[phase],
    reason: asReason(isHere ? decision?.reason : undefined, phaseReason[phase]),
    message: (isHere ? decision?.message : undefined) ?? '',
    atMs: timeOf(projection, 'approver'),
  };
}

function joined(projection: ClusterProjection): Judged {
  const liveness = livenessOf(projection.record);
  return liveness
    ? {
        type: 'Joined',
        status: 'True',
        reason: 'Joined',
        message: 'the agent has sent a heartbeat',
        atMs: liveness.joinedAtMs,
      }
    : {
        type: 'Joined',
        status: 'Unknown',
        reason: 'NeverSeen',
        message: 'no heartbeat of this agent has come yet',
        atMs: timeOf(projection, 'approver'),
      };
}

const suspectMessages: ReadonlyMap<string, string> = new Map([
  ['ConnectionLost', 'the agent lost its connection'],
  ['NoHeartbeats', 'a heartbeat is overdue'],
  [
    'OutageHeld',
    'not heard for the whole grace, together with many others: most likely the network of the hub itself',
  ],
]);
const memberIsDown = 'the agent sends heartbeats; its API server does not answer';
const heardButNotReady: ReadonlyMap<string, string> = new Map([
  ['MemberAPIDown', memberIsDown],
  [
    'Flapping',
    'it came and went too often; it is ready again once it has been heard without a gap for a while',
  ],
]);

/** The summary. Who is shut out is not ready, whatever its heartbeats say. */
function ready(projection: ClusterProjection): Judged {
  const type = 'Ready';
  const phase = registrationPhaseOf(projection.record);
  const decidedAtMs = timeOf(projection, 'approver');
  if (phase === 'denied') {
    return {
      type,
      status: 'False',
      reason: 'Denied',
      message: projection.record.decision?.message ?? '',
      atMs: decidedAtMs,
    };
  }
  if (phase === 'revoked' || phase === 'banned' || phase === 'leaving' || phase === 'left') {
    const message =
      phase === 'leaving' ? 'the cluster is leaving' : (projection.record.decision?.message ?? '');
    return { type, status: 'False', reason: 'Revoked', message, atMs: decidedAtMs };
  }
  // Another key asks meanwhile, and what was decided about the one that was in is no longer the last word.
  if (phase === 'undecided' && isKeyRevoked(projection.record))
    return { type, status: 'False', reason: 'Revoked', message: 'the key was taken back', atMs: decidedAtMs };
  const liveness = livenessOf(projection.record);
  if (!liveness) {
    return {
      type,
      status: 'Unknown',
      reason: 'NeverSeen',
      message: 'no heartbeat of this agent has come yet',
      atMs: decidedAtMs,
    };
  }
  const atMs = liveness.sinceMs;
  switch (liveness.state) {
    case 'ready': {
      const trouble = heardButNotReady.get(liveness.cause);
      return trouble === undefined
        ? { type, status: 'True', reason: 'Alive', message: 'heartbeats are coming', atMs }
        : { type, status: 'False', reason: liveness.cause, message: trouble, atMs };
    }
    case 'suspect': {
      const reason = suspectMessages.has(liveness.cause) ? liveness.cause : 'NoHeartbeats';
      return { type, status: 'Unknown', reason, message: suspectMessages.get(reason) ?? '', atMs };
    }
    case 'stopped':
      return { type, status: 'False', reason: 'AgentStopped', message: 'the agent said goodbye', atMs };
    case 'unreachable':
      return {
        type,
        status: 'False',
        reason: 'Unreachable',
        message: 'no heartbeat for the whole grace',
        atMs,
      };
  }
}

function memberHealthy(projection: ClusterProjection, isReady: boolean): Judged {
  const { facts } = projection;
  const type = 'MemberHealthy';
  const atMs = timeOf(projection, 'heartbeat');
  const probes = { healthz: facts?.healthz, livez: facts?.livez, readyz: facts?.readyz };
  const failing = Object.entries(probes).filter(([, isFine]) => isFine === false);
  if (livenessOf(projection.record)?.cause === 'MemberAPIDown' && !isReady) {
    return { type, status: 'False', reason: 'MemberAPIDown', message: memberIsDown, atMs };
  }
  if (!isReady) {
    return {
      type,
      status: 'Unknown',
      reason: 'NotSeen',
      message: 'known only while the cluster is ready',
      atMs,
    };
  }
  if (failing.length > 0) {
    const names = failing.map(([name]) => `/${name}`).join(', ');
    return {
      type,
      status: 'False',
      reason: 'ProbeFailed',
      message: `the member API server fails ${names}`,
      atMs,
    };
  }
  return facts?.readyz === true
    ? {
        type,
        status: 'True',
        reason: 'ProbesPass',
        message: 'the member API server says that it is ready',
        atMs,
      }
    : { type, status: 'Unknown', reason: 'NotReported', message: 'the agent has not reported it', atMs };
}

function credentialsValid(projection: ClusterProjection): Judged {
  const { identity } = projection.record;
  const type = 'CredentialsValid';
  if (identity?.admittedKey === undefined) {
    const atMs = timeOf(projection, 'registrar');
    return {
      type,
      status: 'Unknown',
      reason: 'NotIssued',
      message: 'no member credentials were issued yet',
      atMs,
    };
  }
  const sharedSinceMs = livenessOf(projection.record)?.keySharedSinceMs;
  if (sharedSinceMs !== undefined && !isKeyRevoked(projection.record)) {
    return {
      type,
      status: 'False',
      reason: 'KeyInUseTwice',
      message:
        'two agents use the key of this cluster: give the copy a key store and a token of its own, or replace the key',
      atMs: sharedSinceMs,
    };
  }
  return isKeyRevoked(projection.record)
    ? {
        type,
        status: 'False',
        reason: 'Revoked',
        message: 'the key was taken back',
        atMs: timeOf(projection, 'approver'),
      }
    : {
        type,
        status: 'True',
        reason: 'Issued',
        message: 'the agent renews them by itself',
        atMs: identity.admittedAtMs ?? timeOf(projection, 'registrar'),
      };
}

/** As the agent finds it, by the hub's answers; it says nothing of a clock that is within 5 s. */
function clockSynced(projection: ClusterProjection): Judged {
  const { facts } = projection;
  const [type, atMs] = ['ClockSynced', timeOf(projection, 'approver')] as const;
  if (!facts) {
    const message = 'the agent has not compared its clock';
    return { type, status: 'Unknown', reason: 'NotReported', message, atMs };
  }
  const ahead = facts.clockAheadSeconds;
  if (ahead === undefined) {
    const message = "the agent finds its clock within 5 s of the hub's";
    return { type, status: 'True', reason: 'ClockNear', message, atMs };
  }
  const off = `${Math.abs(ahead)} s ${ahead > 0 ? 'ahead of' : 'behind'}`;
  return {
    type,
    status: 'False',
    reason: 'ClockOff',
    message: `the clock of the agent is ${off} the hub's`,
    atMs,
  };
}

/** Whether everything is shown that the member claims of itself (ClusterClaims, ClusterProperties). */
function claimsComplete(projection: ClusterProjection): Judged {
  const { facts } = projection;
  const [type, atMs] = ['ClaimsComplete', timeOf(projection, 'approver')] as const;
  if (!facts) {
    const message = 'the agent has not reported claims of its member';
    return { type, status: 'Unknown', reason: 'NotReported', message, atMs };
  }
  const { claimsLeftOut = 0 } = facts;
  if (claimsLeftOut === 0) {
    return { type, status: 'True', reason: 'AllShown', message: 'no claim of the member is left out', atMs };
  }
  const message = `claims of the member that are left out: ${claimsLeftOut}; 20 beside the reserved names are shown, of at most 1024 characters each and 32 kB together`;
  return { type, status: 'False', reason: 'ClaimsLeftOut', message, atMs };
}

interface Remaining {
  readonly reason: 'AccessRemoval' | 'WaitingForAgent' | 'Leaving';
  readonly message: string;
}

/**
 * What is still to be done of a leaving cluster. The reason is the first of it that has a reason of its own: what the hub has
 * to take away counts before what the member has.
 */
function remaining(record: ClusterRecord): Remaining {
  const { identity, decision, access, cut } = record;
  const key = identity?.admittedKey;
  const isAccessLeft = access !== undefined && access.state !== 'deprovisioned';
  const untilMs = agentAwaitedUntilMs(record);
  const what = [
    ...(key !== undefined && cut?.key !== key ? ['its connection'] : []),
    ...(isAccessLeft ? [`its access in namespace "${decision?.namespace ?? access.namespace}"`] : []),
    ...(untilMs === undefined
      ? []
      : [`the agent, which removes itself from the member and has until ${hubTime(untilMs)}`]),
    'the word of the registrar',
  ];
  const reason = isAccessLeft ? 'AccessRemoval' : untilMs === undefined ? 'Leaving' : 'WaitingForAgent';
  const stays =
    access?.namespaceStays === undefined
      ? ''
      : `; namespace "${access.namespace}" stays, ${access.namespaceStays}`;
  return { reason, message: `remaining: ${what.join(', ')}${stays}` };
}

function deleting(projection: ClusterProjection): Judged {
  const type = 'Deleting';
  const atMs = timeOf(projection, 'approver');
  if (hasLeft(projection.record))
    return { type, status: 'True', reason: 'Left', message: 'nothing remains', atMs };
  if (projection.record.decision?.verdict === 'leaving') {
    return { type, status: 'True', ...remaining(projection.record), atMs };
  }
  return projection.isDeletionAsked
    ? {
        type,
        status: 'True',
        reason: 'WaitingForDecision',
        message:
          'deletion was asked for; the hub has not decided yet (many at once wait until a person confirms them: rollcall get operations)',
        atMs,
      }
    : { type, status: 'False', reason: 'NotLeaving', message: '', atMs };
}

/** Every condition of a ManagedCluster, always all of them (Hosted only where the hub reaches the member by itself), in the order of the documentation. */
export function judgeConditions(projection: ClusterProjection): readonly Judged[] {
  const isReady = ready(projection);
  return [
    accepted(projection),
    joined(projection),
    isReady,
    memberHealthy(projection, isReady.status === 'True'),
    credentialsValid(projection),
    clockSynced(projection),
    claimsComplete(projection),
    deleting(projection),
    ...hostedCondition(projection.record),
  ];
}
