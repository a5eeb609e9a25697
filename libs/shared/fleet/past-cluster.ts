import {
  type ClusterRecord,
  currentIdentity,
  livenessOf,
  livenessStateOf,
  waitsAsNewcomer,
} from '@rollcall/shared/events';
import { type ClusterRow, type ClusterState, stateOfLiveness } from './cluster-row.ts';

const isOut: ReadonlySet<string> = new Set(['denied', 'revoked', 'banned', 'leaving']);

/** Also one that nobody came for, or that asked in vain afterwards; what a person lays down again is another one. */
function hasLeft({ identity, decision }: Pick<ClusterRecord, 'identity' | 'decision'>): boolean {
  if (decision?.verdict === 'leaving') return currentIdentity({ identity }) === undefined;
  return identity?.state === 'left' && decision?.verdict !== 'predefined';
}

/**
 * A cluster by its events up to some moment, as its object was shown then. Pure.
 * @returns undefined of what was no cluster: nobody had judged it, or it had left
 */
export function pastCluster(
  id: string,
  record: Pick<ClusterRecord, 'identity' | 'decision' | 'liveness'>,
): ClusterRow | undefined {
  const { decision } = record;
  if (!decision || hasLeft(record)) return undefined;
  const { verdict, approvedKey, clusterName: name, clusterSet: set, labels } = decision;
  const said = (state: ClusterState, reason: string, sinceMs: number): ClusterRow => ({
    name,
    id,
    state,
    reason,
    sinceMs,
    ...(set === undefined ? {} : { set }),
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
    ...(decision.unschedulable ? { isCordoned: true as const } : {}),
  });
  // Another key that was denied takes nothing from the one that is in.
  if (isOut.has(verdict) && !(verdict === 'denied' && approvedKey !== undefined))
    return said('out', decision.reason, decision.decidedAtMs);
  const live = approvedKey === undefined ? undefined : livenessOf(record);
  if (live) return said(stateOfLiveness[livenessStateOf(live)], live.cause, live.sinceMs);
  const isExpected = approvedKey !== undefined || verdict === 'predefined' || waitsAsNewcomer(record);
  if (!isExpected) return undefined;
  const row = said('expected', decision.reason, decision.decidedAtMs);
  return verdict === 'held' && approvedKey === undefined ? { ...row, isWaiting: true } : row;
}
