import { livenessOf, waitsAsNewcomer } from '@rollcall/shared/events';
import { acceptNotHeard, asReason } from '@rollcall/shared/resources/condition-reason';
import type { Judged } from '../condition-list.ts';
import { isKeyRevoked, registrationPhaseOf, type RegistrationPhase } from '../registration-phase.ts';
import { clockCondition } from './clock-condition.ts';
import { type ClusterProjection, timeOf } from './cluster-projection.ts';
import { deletingCondition } from './deleting-condition.ts';
import { hostedCondition } from './hosted-condition.ts';
import { memberIsDown, readyCondition } from './ready-condition.ts';

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
  if (waitsAsNewcomer(projection.record)) {
    const [reason, message] = [asReason(decision?.reason, 'Held'), decision?.message ?? ''];
    const why =
      'hubAcceptsClient: true stood here before this request was shown, or without a name: take it away and set it again, or decide about the request';
    return {
      type: 'Accepted',
      status: 'False',
      ...(projection.isAcceptVoid
        ? { reason: acceptNotHeard, message: `${why}; ${message}` }
        : { reason, message }),
      atMs: timeOf(projection, 'approver'),
    };
  }
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

/** Every condition of a ManagedCluster, always all of them (Hosted only where the hub reaches the member by itself), in the order of the documentation. */
export function judgeConditions(projection: ClusterProjection): readonly Judged[] {
  const ready = readyCondition(projection);
  return [
    accepted(projection),
    joined(projection),
    ready,
    memberHealthy(projection, ready.status === 'True'),
    credentialsValid(projection),
    clockCondition(projection),
    claimsComplete(projection),
    deletingCondition(projection),
    ...hostedCondition(projection.record),
  ];
}
