import { createHash } from 'node:crypto';
import type { ClusterRecord, Decision, Identity } from '@rollcall/shared/events';
import { errorCatalogue, isErrorCode } from '@rollcall/shared/errors';
import { type ClusterRegistrationRequest, labels } from '@rollcall/shared/resources';
import { keyFingerprint } from '@rollcall/shared/trust';
import { asReason, codeAsReason } from '@rollcall/shared/resources/condition-reason';
import { carriedLabels } from '@rollcall/shared/resources/label-syntax';
import { cutText } from '@rollcall/shared/text';
import { currentDecision, isHidden } from './registration-phase.ts';
import { longestMessage } from './condition-list.ts';
import type { Wanted } from './object-presence.ts';

export type RequestShape = Omit<ClusterRegistrationRequest['spec'], 'decision'>;
export type RequestStatus = NonNullable<ClusterRegistrationRequest['status']>;
type Outcome = Pick<RequestStatus, 'result' | 'reason' | 'message' | 'errorMessage'>;

function failed(code: string, message: string): Outcome {
  const hint = isErrorCode(code) ? errorCatalogue[code].hint : '';
  return {
    result: 'Failed',
    reason: codeAsReason(code),
    message: cutText(hint === '' ? message : `${message}. ${hint}`, longestMessage),
    errorMessage: cutText(message, longestMessage),
  };
}

/** Held by what a person did before, and not by a rule: a rule's message says itself who decides, and how by kubectl. */
const heldByNoRule: ReadonlySet<string> = new Set(['RestoredDecision', 'Unbanned']);

function waitsForPerson({ reason, message, clusterName, key, approvedKey }: Decision): string {
  // It names the key, and who may replace the one that is in: not everybody who may approve, and not by an approval alone.
  const isOther = approvedKey !== undefined && approvedKey !== key;
  if (reason === 'KeyChanged' || (isOther && message !== '' && !heldByNoRule.has(reason))) return message;
  const command = `rollcall approve ${clusterName}, or deny`;
  if (message !== '' && !heldByNoRule.has(reason)) return `${message}, or by ${command}`;
  const who = `a person with verb create on managedclusters/accept decides: ${command}`;
  return message === '' ? who : `${message}; ${who}`;
}

function decided(decision: Decision): Outcome {
  const { verdict, message } = decision;
  switch (verdict) {
    case 'approved':
      return { result: 'Approved', reason: asReason(decision.reason, 'Approved'), message };
    case 'held':
      return { result: 'Held', reason: asReason(decision.reason, 'Held'), message: waitsForPerson(decision) };
    case 'denied':
      return { result: 'Denied', reason: asReason(decision.reason, 'Denied'), message };
    case 'revoked':
      return { result: 'Denied', reason: asReason(decision.reason, 'Revoked'), message };
    case 'banned':
      return { result: 'Denied', reason: asReason(decision.reason, 'Banned'), message };
    case 'leaving':
      return { result: 'Approved', reason: 'Leaving', message: 'the cluster is leaving' };
    case 'predefined':
      return { result: 'Pending', reason: 'Predefined', message: 'the hub is judging this request' };
  }
}

/** The first of these that holds: refused by the registrar, failed at the provisioner, decided, or still open. */
function outcomeOf(record: ClusterRecord): Outcome {
  const { identity, access } = record;
  if (identity?.state === 'refused' && identity.refusal)
    return failed(identity.refusal.code, identity.refusal.message);
  const decision = currentDecision(record);
  const isOfThisRequest = access?.requestId === undefined || access.requestId === identity?.request.id;
  if (decision?.verdict === 'approved' && access?.state === 'failed' && isOfThisRequest) {
    return failed(
      access.error?.code ?? 'NAMESPACE_TAKEN',
      access.error?.message ?? `namespace "${access.namespace}" failed`,
    );
  }
  return decision
    ? decided(decision)
    : { result: 'Pending', reason: 'Judging', message: 'the hub is judging this request' };
}

function requestStatus(record: ClusterRecord): RequestStatus {
  const decision = currentDecision(record);
  const outcome = outcomeOf(record);
  const { policy, rule, person } = decision?.by ?? {};
  const isIn = outcome.result === 'Approved' && decision !== undefined;
  const { head } = record;
  return {
    ...outcome,
    ...(policy === undefined ? {} : { policy: policy.slice(0, 253) }),
    ...(rule === undefined ? {} : { rule: rule.slice(0, 63) }),
    ...(person === undefined ? {} : { by: cutText(person, 512) }),
    ...(isIn ? { dedicatedNamespace: decision.namespace, managedClusterName: decision.clusterName } : {}),
    ...(head ? { observed: { epoch: head.epoch, sequence: head.sequence, digest: head.digest } } : {}),
  };
}

/** @param known - the key that the hub knows the cluster by */
function requestShape(identity: Identity, known: string | undefined): RequestShape {
  const { clusterId, clientId, clusterName, clusterType, mode, request } = identity;
  const asked = carriedLabels(request.claimed.labels);
  const digest = createHash('sha256').update(JSON.stringify(request.claimed)).digest('hex');
  return {
    clusterId,
    ...(clientId === undefined ? {} : { clientId: cutText(clientId, 253) }),
    clusterName,
    clusterType,
    mode,
    keyFingerprint: request.keyFingerprint,
    // In one write with the key that asks: the admission policies compare the two (deploy/admission/accept.yaml).
    ...(known === undefined || known === request.key ? {} : { knownKeyFingerprint: keyFingerprint(known) }),
    token: cutText(request.tokenName, 253),
    ...(Object.keys(asked).length === 0 ? {} : { labels: asked }),
    factsDigest: `sha256:${digest}`,
  };
}

/** By what people select requests, as they do clusters; the admission policies keep others from writing them. */
export function requestLabels({ identity, decision }: ClusterRecord): Record<string, string> {
  if (!identity) return {};
  const isHosted = decision?.predefined?.kubeconfig !== undefined;
  return {
    [labels.clusterId]: identity.clusterId,
    [labels.clusterName]: identity.clusterName,
    [labels.registeredBy]: isHosted ? 'hub' : 'agent',
  };
}

/** The ClusterRegistrationRequest that a record asks for: one for each cluster id, until the cluster has left. */
export function desiredRequest(record: ClusterRecord): Wanted<RequestShape, RequestStatus> {
  const { identity } = record;
  if (!identity || isHidden(record)) return { presence: 'unmentioned' };
  if (identity.state === 'left') return { presence: 'gone', name: identity.clusterId };
  return {
    presence: 'present',
    name: identity.clusterId,
    shape: requestShape(identity, record.decision?.approvedKey ?? identity.admittedKey),
    status: requestStatus(record),
  };
}
