import {
  type ClusterRecord,
  draft,
  type EventDraft,
  isRecent,
  type KeyRecord,
  keyTaken,
} from '@rollcall/shared/events';
import { keyFingerprint } from '@rollcall/shared/trust';
import type { Refusal } from '../replies/refusal.ts';
import { openRequest } from '../replies/key-status.ts';

/**
 * One cluster a key: what is taken back is a key, so with two clusters behind one the end of either would end the other, and an
 * approval of either would let the other in again.
 */
export function refuseForeignKey({ holder }: KeyRecord, clusterId: string): Refusal | undefined {
  if (holder === undefined || holder === clusterId) return undefined;
  return { code: 'KEY_TAKEN', message: 'this key belongs to another cluster' };
}

/** By rotating, by joining with another key, by leaving and coming back: each of them costs a dozen events, kept for ever. */
export const mostKeysPerDay = 24;
const dayMs = 86_400_000;

/**
 * Every key that a cluster had stands in its record for a week at least. Whoever needs more of them is helped by a person.
 * @param isStranger - asks by the id of a cluster that has an owner: half of the keys of a day are for that one
 */
export function refuseManyKeys(
  { decision, identity }: Pick<ClusterRecord, 'decision' | 'identity'>,
  { nowMs, isStranger = false }: { nowMs: number; isStranger?: boolean },
): Refusal | undefined {
  const isOfDay = ({ atMs }: { atMs: number }) => isRecent(atMs, { nowMs, withinMs: dayMs });
  const today = (decision?.revokedKeys ?? []).filter(isOfDay).length;
  if (today < (isStranger ? mostKeysPerDay / 2 : mostKeysPerDay)) return undefined;
  const name = identity?.clusterName ?? '';
  const message = `the cluster "${name}" had ${today} keys within a day; a rotation that a person wants goes on (\`rollcall rotate ${name}\`), all else tomorrow`;
  return { code: 'HUB_BUSY', message };
}

/** The first request of a key makes it the cluster's. */
export function takeKey(key: KeyRecord, agentKey: string, clusterId: string): EventDraft[] {
  if (key.holder !== undefined) return [];
  const message = `${keyFingerprint(agentKey)} belongs to cluster ${clusterId}`;
  return [draft(keyTaken, key, { reason: 'Taken', message, section: { key: agentKey, clusterId } })];
}

/**
 * One open request a cluster: whoever holds another valid token and knows the id of a waiting cluster could else take its place
 * in the queue under the eyes of the person who decides. The owner takes the place of a stranger: it proves that it is the one.
 */
export function refuseSecondKey(
  record: ClusterRecord,
  { agentKey, isOwner }: { agentKey: string; isOwner: boolean },
): Refusal | undefined {
  const request = openRequest(record);
  if (!request || request.key === agentKey) return undefined;
  const isOwners = request.rotation !== undefined || request.member?.sameMember === true;
  if (isOwner && !isOwners) return undefined;
  return {
    code: 'REQUEST_OPEN',
    message: `another key (${request.keyFingerprint}) is already waiting for this cluster`,
  };
}
