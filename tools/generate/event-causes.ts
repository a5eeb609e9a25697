import { mostSpentInEvent } from '@rollcall/shared/events';
import { mostListed } from '../../services/approver/bulk/bulk-change.ts';
import { configSchema as heartbeatConfig } from '../../services/heartbeat/config.ts';
import { windowIntervals } from '../../services/heartbeat/engine/duplicate-key-watch.ts';
import { sayAgainAfterMs as heartbeatFloodAgainMs } from '../../services/heartbeat/floods/heartbeat-flood-event.ts';
import { configSchema as registrarConfig } from '../../services/registrar/config.ts';
import { leastPauseMs, longestPauseMs } from '../../services/registrar/join/join-claims.ts';
import { mostJoinsInBatch } from '../../services/registrar/join/batch-by-token.ts';
import {
  refusalsStored,
  refusalsStoredOfOneToken,
} from '../../services/registrar/limits/join-refusal-limits.ts';
import { sayAgainAfterMs as requestFloodAgainMs } from '../../services/registrar/limits/request-flood-event.ts';
import { memberChangesPerDay } from '../../services/registrar/limits/member-changes.ts';
import { mostKeysPerDay } from '../../services/registrar/members/key-holder.ts';
import { mostPinsPerDay } from '../../services/registrar/members/issuer-pin.ts';

/**
 * Who can have an event stored: `token` whoever holds a registration token, `member` an agent that is in or waits, `person` an
 * account of the hub's API server with the right to it, `operator` who runs the hub, `hub` a service by its own fixed rules.
 */
export type EventCauser = 'token' | 'member' | 'person' | 'operator' | 'hub';

export interface EventCause {
  readonly by: readonly EventCauser[];
  /** How often at most. */
  readonly often: string;
  /** What is left of a place that is 85 % full is not for these. */
  readonly stopsWhenFull: boolean;
}

const ofRequest = { by: ['token'], stopsWhenFull: true } as const;
const count = (number: number) => number.toLocaleString('en');
const minutes = (ms: number) => (ms === 60_000 ? 'a minute' : `${ms / 60_000} minutes`);
/** By default, where it can be set. */
const set = { ...registrarConfig.shape, ...heartbeatConfig.shape };
const usesPerDay = count(set.maxUsesPerTokenPerDay.parse(undefined));
const mebibytes = (bytes: number) => `${bytes / 1024 ** 2} MiB`;
const bytesPerDay = `${mebibytes(set.maxBytesPerTokenPerDay.parse(undefined))} with one token and ${mebibytes(set.maxBytesPerDay.parse(undefined))} in all, of each replica of the registrar`;
const onceAKey = `once for each key: ${mostKeysPerDay} of a cluster a day, and those that a person wants`;
const perWrite = 'once for each time that it is written';
const perRotation = "once for each step of a rotation of the hub's keys";
const liveness = `${set.flapLosses.parse(undefined)} losses or goodbyes within ${minutes(set.flapWindow.parse(undefined))}, then none before ${minutes(set.flapSteady.parse(undefined))} without a gap, or a whole grace of silence: some 6,000 a day of one cluster`;
const onceARegistration = `once for each registration of the cluster, which takes one of its ${mostKeysPerDay} keys of a day`;
const perOutage = 'once when a large part of the fleet falls silent together, and once when that ends';

/**
 * By what each event can be caused, by its kind and type. A type that is missing here fails a test: whoever adds one says what keeps
 * it from filling the history.
 */
export const eventCauses: Readonly<Record<string, EventCause>> = {
  'cluster.requested': {
    by: ['token', 'member'],
    often: `once for each use of a token (${usesPerDay} a day, and ${bytesPerDay}) and each new key; while it waits, when what it says changes, after ${minutes(leastPauseMs)} at first and ${longestPauseMs / 3_600_000} hours at last`,
    stopsWhenFull: true,
  },
  'cluster.refused': {
    ...ofRequest,
    often: `${refusalsStoredOfOneToken.burst} at once with one token and then ${Math.round(refusalsStoredOfOneToken.perSecond * 86_400)} a day, ${refusalsStored.burst} in all, of each replica of the registrar, and anew when it starts`,
  },
  'cluster.admitted': { by: ['hub'], often: onceAKey, stopsWhenFull: false },
  'cluster.rotated': {
    by: ['member'],
    often: `${onceAKey}; ${count(memberChangesPerDay)} a day of all members and each replica of the registrar, but for the latter`,
    stopsWhenFull: false,
  },
  'cluster.pinned': {
    by: ['member'],
    often: `${mostPinsPerDay} times a day, ${count(memberChangesPerDay)} of all members and each replica of the registrar`,
    stopsWhenFull: true,
  },
  'cluster.leave-requested': { by: ['member'], often: onceARegistration, stopsWhenFull: false },
  'cluster.cleaned': { by: ['member'], often: onceARegistration, stopsWhenFull: false },
  'cluster.left': { by: ['hub'], often: onceARegistration, stopsWhenFull: false },
  'cluster.flooded': {
    by: ['member'],
    often: `once in ${minutes(requestFloodAgainMs)} until it is put out; one in two seconds in all, of each replica of the registrar`,
    stopsWhenFull: false,
  },
  'token.used': {
    ...ofRequest,
    often: `once for up to ${mostJoinsInBatch} requests that are written together; ${usesPerDay} uses a day`,
  },
  'key.taken': { ...ofRequest, often: 'once a key' },
  'name.taken': { ...ofRequest, often: 'once for each request that takes a name' },

  'cluster.approved': { by: ['hub', 'person'], often: onceAKey, stopsWhenFull: false },
  'cluster.held': {
    by: ['hub'],
    often: 'once for each request, and when the rule or the reason changes',
    stopsWhenFull: false,
  },
  'cluster.denied': {
    by: ['hub', 'person'],
    often: 'once for each request, and for each word of a person',
    stopsWhenFull: false,
  },
  'cluster.revoked': { by: ['hub', 'person'], often: onceAKey, stopsWhenFull: false },
  'cluster.banned': { by: ['person'], often: perWrite, stopsWhenFull: false },
  'cluster.unbanned': { by: ['person'], often: perWrite, stopsWhenFull: false },
  'cluster.leaving': {
    by: ['member', 'person'],
    often: `${onceARegistration}; once more where a person ends the waiting`,
    stopsWhenFull: false,
  },
  'cluster.changed': { by: ['person'], often: perWrite, stopsWhenFull: false },
  'cluster.cordoned': { by: ['person'], often: perWrite, stopsWhenFull: false },
  'cluster.uncordoned': { by: ['person'], often: perWrite, stopsWhenFull: false },
  'cluster.rotation-requested': { by: ['person'], often: perWrite, stopsWhenFull: false },
  'cluster.predefined': { by: ['person'], often: perWrite, stopsWhenFull: false },
  'name.reserved': { by: ['person'], often: 'once for each predefined cluster', stopsWhenFull: false },
  'name.released': { by: ['hub'], often: onceARegistration, stopsWhenFull: false },
  'token.declared': { by: ['person'], often: perWrite, stopsWhenFull: false },
  'token.withdrawn': { by: ['person'], often: 'once a token', stopsWhenFull: false },
  'policy.declared': { by: ['person'], often: perWrite, stopsWhenFull: false },
  'policy.withdrawn': { by: ['person'], often: 'once a policy', stopsWhenFull: false },
  'set.declared': { by: ['person'], often: perWrite, stopsWhenFull: false },
  'set.withdrawn': { by: ['person'], often: 'once a set', stopsWhenFull: false },
  'hub.counted': {
    by: ['hub'],
    often: 'once for each approval while a policy counts the fleet',
    stopsWhenFull: false,
  },
  'hub.bulk-counted': { by: ['person'], often: 'once for each member put out', stopsWhenFull: false },
  'hub.bulk-held': {
    by: ['person'],
    often: `once for each member to be put out beyond the limit, ${mostListed} before a confirmation`,
    stopsWhenFull: false,
  },
  'hub.bulk-confirmed': { by: ['person'], often: perWrite, stopsWhenFull: false },
  'hub.admission-changed': {
    by: ['hub', 'operator'],
    often:
      'when the admission policies are seen not to hold, or to hold again, and when something of what was written then is written anew',
    stopsWhenFull: false,
  },
  'hub.spent-noted': {
    by: ['operator'],
    often: `for each ${mostSpentInEvent} of what people had said before a restore, beyond the first ${mostSpentInEvent}`,
    stopsWhenFull: false,
  },
  'hub.restore-reviewed': { by: ['operator'], often: 'once a restore', stopsWhenFull: false },

  'cluster.provisioned': {
    by: ['hub', 'person'],
    often: `${onceAKey}; when access was given or taken, or somebody took away what was made`,
    stopsWhenFull: false,
  },
  'cluster.provisioning-failed': {
    by: ['hub'],
    often: 'once for each approval and reason',
    stopsWhenFull: false,
  },
  'cluster.deprovisioned': { by: ['hub'], often: onceAKey, stopsWhenFull: false },
  'cluster.access-given': {
    by: ['member'],
    often: 'once after each time that access was given, for the first token',
    stopsWhenFull: false,
  },
  'token.published': { by: ['person'], often: 'once a token', stopsWhenFull: false },
  'token.unpublished': { by: ['person'], often: 'once a token', stopsWhenFull: false },
  'token.publishing-failed': {
    by: ['hub'],
    often: 'once for each time that the token is written, and reason',
    stopsWhenFull: false,
  },

  'cluster.joined': { by: ['member'], often: onceAKey, stopsWhenFull: false },
  'cluster.ready': { by: ['member'], often: liveness, stopsWhenFull: false },
  'cluster.suspect': { by: ['member'], often: liveness, stopsWhenFull: false },
  'cluster.unreachable': { by: ['member'], often: liveness, stopsWhenFull: false },
  'cluster.stopped': { by: ['member'], often: liveness, stopsWhenFull: false },
  'cluster.member-down': { by: ['member'], often: liveness, stopsWhenFull: false },
  'cluster.flapping': { by: ['member'], often: liveness, stopsWhenFull: false },
  'cluster.key-shared': {
    by: ['member'],
    often: `after ${windowIntervals} intervals of heartbeats by two agents with one key`,
    stopsWhenFull: false,
  },
  'cluster.key-unshared': {
    by: ['member'],
    often: `after ${windowIntervals} intervals of heartbeats by one of them alone`,
    stopsWhenFull: false,
  },
  'cluster.flooding': {
    by: ['member'],
    often: `once in ${minutes(heartbeatFloodAgainMs)} until it is put out`,
    stopsWhenFull: false,
  },
  'hub.outage': { by: ['hub'], often: perOutage, stopsWhenFull: false },
  'hub.outage-ended': { by: ['hub'], often: perOutage, stopsWhenFull: false },
  'hub.interval-changed': {
    by: ['hub'],
    often: 'when the size of the fleet has changed by a step',
    stopsWhenFull: false,
  },

  'cluster.hosted': {
    by: ['person', 'member'],
    often:
      'of a member that the hub reaches by a kubeconfig: once after each failure that was told; a member that was reached is tried anew when its Secret is written or the host starts',
    stopsWhenFull: false,
  },
  'cluster.agent-installed': { by: ['person'], often: onceARegistration, stopsWhenFull: false },
  'cluster.hosting-failed': {
    by: ['person', 'member'],
    often:
      'when it cannot be reached, or for another reason or in other words than before; after nine failures tries are two and a half minutes apart in the mean: some 600 a day of one member, and one for each time that its Secret is written',
    stopsWhenFull: false,
  },

  'cluster.cut': { by: ['hub'], often: onceAKey, stopsWhenFull: false },
  'hub.trust-announced': { by: ['operator'], often: perRotation, stopsWhenFull: false },
  'hub.trust-changed': { by: ['operator'], often: perRotation, stopsWhenFull: false },
  'hub.archived': { by: ['operator'], often: 'twice for each archive', stopsWhenFull: false },
  'hub.restored': { by: ['operator'], often: 'once a restore', stopsWhenFull: false },
};
