import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { EventLog, Trace } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import { toRollcallError } from '@rollcall/shared/errors';
import {
  changed,
  clusterRecord,
  type ClusterRecord,
  cordoned,
  type Decision,
  type EventDraft,
  revoked,
  type StoredEvent,
  uncordoned,
} from '@rollcall/shared/events';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import { accessEvents, type AccessResult } from './access-event.ts';
import {
  accessRequestId,
  planAccess,
  type AccessPlan,
  areTokensStale,
  hasAccount,
  isOfFormerRegistration,
  isProvisioned,
  type NamespaceOwners,
  wantedAccess,
} from './plan-access.ts';
import { deprovision } from './deprovision.ts';
import { memberOf } from './member-access-objects.ts';
import { provision } from './provision.ts';
import { removeAccount } from './remove-account.ts';

export interface World {
  readonly log: Pick<EventLog, 'read' | 'append'>;
  readonly kube: Pick<KubeClient, 'create' | 'get' | 'delete' | 'listPage' | 'raw'>;
  readonly reservedNames: readonly string[];
  /** Default: all. */
  readonly namespaces?: NamespaceOwners;
  nowMs(): number;
}

/**
 * @param mayHaveAccount - one that no event tells of may be there; else it is not looked for
 * @param created - UIDs of what was created here
 */
async function carryOut(
  world: World,
  record: ClusterRecord,
  { step, mayHaveAccount, created }: { step: AccessPlan; mayHaveAccount: boolean; created: Set<string> },
): Promise<AccessResult | undefined> {
  const { decision, access, aggregate } = record;
  if (!decision) return undefined;
  const { verdict } = decision;
  const requestId = accessRequestId(record);
  if (step !== 'deprovision') {
    const { reservedNames } = world;
    const withAccount = step === 'give-access';
    const { namespace } = decision;
    const isWithdrawn = areTokensStale(record) || (hasAccount(record) && !withAccount);
    if (isWithdrawn || (mayHaveAccount && !withAccount)) {
      const where = { ...decision, namespace: access?.namespace ?? namespace };
      await removeAccount(world.kube, memberOf(aggregate.id, where));
    }
    const member = memberOf(aggregate.id, decision);
    for (const uid of Object.values(access?.uids ?? {})) if (typeof uid === 'string') created.add(uid);
    const made = await provision(world.kube, member, { reservedNames, withAccount, created });
    const failure = 'failure' in made ? made.failure : undefined;
    const wasThere = isProvisioned(record) && hasAccount(record) === withAccount && !isWithdrawn;
    const isMadeAgain = wasThere && 'isNew' in made && made.isNew;
    const uids = 'uids' in made ? made.uids : undefined;
    return { step, namespace, requestId, failure, isWithdrawn, isMadeAgain, uids };
  }
  // What a killed replica made for this request stands in no event; the section may be that of an earlier registration.
  const namespace =
    access?.requestId === requestId ? (access?.namespace ?? decision.namespace) : decision.namespace;
  const member = memberOf(aggregate.id, { ...decision, namespace });
  // Only who leaves loses the namespace: who was denied or revoked may be approved again.
  const policy = verdict === 'leaving' ? decision.namespacePolicy : 'Keep';
  const { stays } = await deprovision(world.kube, member, policy);
  return { step, namespace, requestId, stays };
}

/**
 * What gives rights to a cluster that leaves goes as soon as its key does. All else is for the event of its leaving, which may have to
 * wait for those that left before it.
 */
async function endRights({ kube }: World, { aggregate, decision, access }: ClusterRecord): Promise<void> {
  if (!decision || !hasAccount({ access })) return;
  const { namespace } = access ?? decision;
  await removeAccount(kube, memberOf(aggregate.id, { ...decision, namespace }));
}

/** Whether what was just done need not be done again: it was for this very request, and no replica has told anything since. */
function isFor(
  result: AccessResult,
  record: ClusterRecord,
  { step, madeAt }: { step: AccessPlan; madeAt: ClusterRecord | undefined },
): boolean {
  const isToldSince =
    madeAt?.lastOf['rbac-provisioner']?.sequence !== record.lastOf['rbac-provisioner']?.sequence;
  if (isToldSince || result.step !== step || result.requestId !== accessRequestId(record)) return false;
  // Revoking and leaving take away different things; `revoked` repeats the decision that it ends.
  return step === 'deprovision'
    ? isDeepStrictEqual(madeAt?.decision, record.decision)
    : result.namespace === record.decision?.namespace;
}

/** What wakes: an event, or that what the events say is there was not found. */
export interface Wake extends Trace, Pick<StoredEvent, 'kind' | 'id'> {
  readonly type: string;
  /** Of an event: the approver's. */
  readonly section?: unknown;
}
/** No event: nothing is asked for, but what is wanted and was told of is not there. */
export const missing = 'missing';

const settingsEvents: ReadonlySet<string> = new Set([changed.type, cordoned.type, uncordoned.type]);
const isAboutSettings = ({ type }: Wake): boolean => settingsEvents.has(type);

/** About a minute and a half on average; then the event is delivered again. */
const mostAttempts = 40;
const longestDelayMs = 5000;

/**
 * Makes Kubernetes fit the record that the event woke us for, and tells what was done.
 *
 *     read the record → what is to be done? → do it → append, if the record is still that one
 *                  ▲                                     │ conflict
 *                  └─────────────────────────────────────┘ the new record may ask for the contrary: then it is undone
 *                                                            (and so where something was done that nothing tells of)
 *
 * @returns what was appended
 * @throws RollcallError NAMESPACE_TERMINATING at once, because that takes as long as Kubernetes, or whoever has a finalizer in it,
 *   likes: nothing can be made in it, and what was goes with it
 */
export async function reconcileAccess(world: World, event: Wake): Promise<readonly EventDraft[]> {
  const aggregate = { kind: event.kind, id: event.id };
  const read = async () => clusterRecord(await world.log.read(aggregate));
  // Each leaving ends in `revoked`, and is heard itself: by the consumer of departures, which takes nobody's turn.
  if (event.type === revoked.type) {
    const record = await read();
    if (record.decision?.verdict === 'leaving') {
      await endRights(world, record);
      return [];
    }
  }
  let last: AccessResult | undefined;
  let madeAt: ClusterRecord | undefined;
  let tried: AccessPlan | undefined;
  let isHalfDone = false;
  const created = new Set<string>();

  /** What was done here last, or by a replica that died before it told: what the event asked for when it was written. */
  function doneUntold(wanted: AccessPlan | undefined): AccessPlan | undefined {
    if (tried) return tried;
    // A change of settings lets nobody in, and puts nobody out.
    const isOfMember = event.type === 'approved' || (isAboutSettings(event) && wanted !== 'deprovision');
    if (!isOfMember) return isAboutSettings(event) ? wanted : 'deprovision';
    return (event.section as Decision).access === 'Namespace' ? 'give-access' : 'provision';
  }

  /** What was made or taken away untold is in no record. */
  function untold(record: ClusterRecord): AccessPlan | undefined {
    const wanted = wantedAccess(record);
    if (event.type === missing && wanted !== 'deprovision') return wanted;
    const mayBeContrary = isHalfDone || doneUntold(wanted) !== wanted;
    return mayBeContrary ? wanted : undefined;
  }

  /** Another replica told of the account that it made, and it was replaced here. */
  function replaced(record: ClusterRecord): AccessPlan | undefined {
    const uids = last && last.step !== 'deprovision' ? last.uids : undefined;
    const isOther = uids !== undefined && !isDeepStrictEqual(uids, record.access?.uids);
    return isOther && wantedAccess(record) === 'give-access' ? 'give-access' : undefined;
  }

  /** A process that was stopped may wake up in a later registration of the cluster: what it made is of one that is over. */
  async function undoFormer(record: ClusterRecord): Promise<boolean> {
    const made = last && last.step !== 'deprovision' ? madeAt?.decision : undefined;
    if (!made || !isOfFormerRegistration(made, record)) return false;
    tried = 'deprovision';
    await deprovision(world.kube, memberOf(aggregate.id, made), made.namespacePolicy);
    last = undefined;
    return true;
  }

  /** Others write as soon as the cluster is approved or leaves, too: at what was read before the work, the append would lose. */
  async function readAgain(before: ClusterRecord, step: AccessPlan): Promise<ClusterRecord> {
    const now = await read();
    return planAccess(now, world.namespaces) === step && last && isFor(last, now, { step, madeAt: before })
      ? now
      : before;
  }

  const bring = () =>
    decideAndAppend(
      world.log,
      {
        async gather() {
          let record = await read();
          let hasActed = await undoFormer(record);
          const step = planAccess(record, world.namespaces) ?? untold(record) ?? replaced(record);
          if (step && !(last && isFor(last, record, { step, madeAt }))) {
            const mayHaveAccount = isHalfDone || doneUntold(step) === 'give-access';
            tried = step;
            hasActed = true;
            isHalfDone = true;
            // What was made before may be taken away by half from here on (found by simulation).
            last = undefined;
            last = await carryOut(world, record, { step, mayHaveAccount, created });
            isHalfDone = false;
            madeAt = record;
            record = await readAgain(record, step);
          }
          const isStillMeant = step !== undefined || wantedAccess(record) === undefined;
          return { record, nowMs: world.nowMs(), result: isStillMeant ? last : undefined, hasActed };
        },
        decide: (context) => accessEvents(context),
      },
      { correlation: event.correlation, traceparent: event.traceparent },
    );
  // A process that was stopped may have acted on an old record, and its event may be acknowledged elsewhere by now: what it
  // did must be put right here.
  for (let attempt = 1; ; attempt++) {
    try {
      const { context, drafts } = await bring();
      // No append has found out whether what was done untold fits the record by now: it is read once more.
      if (drafts.length > 0 || !context.hasActed) return drafts;
    } catch (error) {
      const { retry, code } = toRollcallError(error);
      const isForLater = !retry || code === 'NAMESPACE_TERMINATING';
      if (tried === undefined || attempt === mostAttempts || isForLater) throw error;
      await delay(Math.random() * Math.min(100 * 2 ** attempt, longestDelayMs));
    }
  }
}
