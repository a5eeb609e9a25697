import {
  type ClusterRecord,
  type Decision,
  draft,
  type EventDraft,
  type Identity,
  revoked,
} from '@rollcall/shared/events';
import { isSignedBy, keyFingerprint } from '@rollcall/shared/trust';
import {
  type Outcome,
  sectionAfter,
  type SectionBase,
  withRevoked,
  withRotated,
} from './decision-section.ts';
import { saidIn } from './read-signed-request.ts';

/**
 * Whether the key that is in has signed for the one that asks, and that one too. It is checked here although the registrar has
 * done so: whoever has the registrar must not be able to replace a key.
 */
export function isVouchedFor(identity: Identity, previous: Decision | undefined): boolean {
  const { rotation, key } = identity.request;
  if (!rotation || !previous) return false;
  const { from, proof } = rotation;
  const isIn = previous.approvedKey === from && identity.admittedKey === from;
  if (!isIn || previous.retiringKey !== undefined) return false;
  const { verb, body } = saidIn(proof.signed);
  if (verb !== 'rotate' || body?.clusterId !== identity.clusterId || body.newKey !== key) return false;
  return isSignedBy(proof, from) && isSignedBy(proof, key);
}

/** Nobody else has to say yes: the new key is what the approved one says it is. */
export function rotationApproved({ request }: Identity): Omit<Outcome, 'verdict'> & { verdict: 'approved' } {
  const former = keyFingerprint(request.rotation?.from ?? '');
  return {
    verdict: 'approved',
    by: { service: 'agent' },
    reason: 'KeyRotated',
    message: `the key that is in (${former}) signed for this one (${request.keyFingerprint})`,
  };
}

/** The new key is in; the former one is not out before the agent was heard with the new one, so that nothing is cut. */
export function rotationAfter(base: SectionBase, outcome: Omit<Outcome, 'verdict'>): Decision {
  const { identity, previous } = base;
  const section = sectionAfter(base, { ...outcome, verdict: 'approved' });
  const former = previous?.approvedKey;
  return {
    ...section,
    approvedKey: identity.request.key,
    ...(former === undefined ? {} : { retiringKey: former }),
    ...(former === undefined || previous?.rotationRequest?.key !== former
      ? {}
      : { rotationRequest: previous.rotationRequest }),
  };
}

/** The end of a rotation: the former key is out. */
export function decideRotationEnd(record: ClusterRecord, nowMs: number): EventDraft[] {
  const { identity, decision } = record;
  if (identity?.rotatedAtMs === undefined || !decision) return [];
  const { retiringKey, ...rest } = decision;
  if (retiringKey === undefined || identity.rotatedFrom !== retiringKey) return [];
  if (identity.admittedKey !== decision.approvedKey) return [];
  // Whoever wants another key may have lost this one: then it is taken back by a person, not only replaced.
  const isRequested = decision.rotationRequest?.key === retiringKey;
  const revokedKeys = isRequested
    ? withRevoked(decision.revokedKeys, [retiringKey], nowMs)
    : withRotated(decision.revokedKeys, retiringKey, nowMs);
  const outcome = {
    by: { service: 'agent' },
    reason: 'KeyRotated',
    message: `the agent uses its new key, and the former one (${keyFingerprint(retiringKey)}) is out`,
  };
  return [draft(revoked, record, { ...outcome, section: { ...rest, revokedKeys } })];
}
