import { setTimeout as delay } from 'node:timers/promises';
import type { EventLog } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import { toRollcallError } from '@rollcall/shared/errors';
import {
  clusterRecord,
  type ClusterRecord,
  type EventDraft,
  type StoredEvent,
} from '@rollcall/shared/events';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import { accessEvents, type AccessResult } from './access-event.ts';
import { accessRequestId, accessStep, type AccessStep, wantedAccess } from './access-step.ts';
import { deprovision } from './deprovision.ts';
import { memberOf } from './member-objects.ts';
import { provision } from './provision.ts';

export interface World {
  readonly log: Pick<EventLog, 'read' | 'append'>;
  readonly kube: Pick<KubeClient, 'create' | 'get' | 'delete' | 'listPage'>;
  readonly reservedNames: readonly string[];
  nowMs(): number;
}

async function carryOut(
  world: World,
  record: ClusterRecord,
  step: AccessStep,
): Promise<AccessResult | undefined> {
  const { decision, access, aggregate } = record;
  if (!decision) return undefined;
  const { verdict } = decision;
  const requestId = accessRequestId(record);
  if (step === 'provision') {
    const { reservedNames } = world;
    const failure = await provision(world.kube, memberOf(aggregate.id, decision), { reservedNames });
    return { step, namespace: decision.namespace, requestId, failure };
  }
  // What a killed replica made for this request stands in no event; the section may be that of an earlier life.
  const namespace =
    access?.requestId === requestId ? (access?.namespace ?? decision.namespace) : decision.namespace;
  const member = memberOf(aggregate.id, { ...decision, namespace });
  // Only who leaves loses the namespace: who was denied or revoked may be approved again.
  await deprovision(world.kube, member, verdict === 'leaving' ? decision.namespacePolicy : 'Keep');
  return { step, namespace, requestId };
}

/** Whether what was just made need not be made again: it was for this very request, and no replica has told anything since. */
function isFor(
  result: AccessResult,
  record: ClusterRecord,
  { step, madeAt }: { step: AccessStep; madeAt: ClusterRecord | undefined },
): boolean {
  // Revoking and leaving take away different things, so only making is known to be the same.
  return (
    step === 'provision' &&
    madeAt?.lastOf['rbac-provisioner']?.sequence === record.lastOf['rbac-provisioner']?.sequence &&
    result.step === step &&
    result.requestId === accessRequestId(record) &&
    result.namespace === record.decision?.namespace
  );
}

/** About a minute and a half on average; then the event is delivered again. */
const mostAttempts = 40;
const longestDelayMs = 5000;

/**
 * Makes Kubernetes fit the record that the event woke us for, and tells what was done.
 *
 *     read the record → what is to be done? → do it → append, if the record is still that one
 *                  ▲                                     │ conflict
 *                  └─────────────────────────────────────┘ the new record may ask for the contrary: then it is undone
 *
 * @returns what was appended
 */
export async function bringAccessAbout(world: World, event: StoredEvent): Promise<readonly EventDraft[]> {
  const aggregate = { kind: event.kind, id: event.id };
  let last: AccessResult | undefined;
  let madeAt: ClusterRecord | undefined;
  let tried: AccessStep | undefined;
  let isHalfDone = false;

  /** What was made or taken away here, or by a replica that died before it told, is in no record. */
  function untold(record: ClusterRecord): AccessStep | undefined {
    const wanted = wantedAccess(record);
    const asked = event.type === 'approved' ? 'provision' : 'deprovision';
    const mayBeContrary = isHalfDone || (tried ?? asked) !== wanted;
    return mayBeContrary ? wanted : undefined;
  }

  /** A process that was stopped may wake up in a later life of the cluster, which has another name and namespace. */
  async function undoElsewhere(record: ClusterRecord): Promise<void> {
    const made = last?.step === 'provision' ? madeAt?.decision : undefined;
    if (!made || made.namespace === record.decision?.namespace) return;
    await deprovision(world.kube, memberOf(aggregate.id, made), made.namespacePolicy);
    last = undefined;
  }

  const bring = () =>
    decideAndAppend(
      world.log,
      {
        async gather() {
          const record = clusterRecord(await world.log.read(aggregate));
          await undoElsewhere(record);
          const step = accessStep(record) ?? untold(record);
          if (step && !(last && isFor(last, record, { step, madeAt }))) {
            tried = step;
            isHalfDone = true;
            last = await carryOut(world, record, step);
            isHalfDone = false;
            madeAt = record;
          }
          const isStillMeant = step !== undefined || wantedAccess(record) === undefined;
          return { record, nowMs: world.nowMs(), result: isStillMeant ? last : undefined };
        },
        decide: accessEvents,
      },
      { correlation: event.correlation, traceparent: event.traceparent },
    );
  // A process that was stopped may have acted on an old record, and its event may be acknowledged elsewhere by now: what it
  // did must be put right here.
  for (let attempt = 1; ; attempt++) {
    try {
      return (await bring()).drafts;
    } catch (error) {
      if (tried === undefined || attempt === mostAttempts || !toRollcallError(error).retry) throw error;
      await delay(Math.random() * Math.min(100 * 2 ** attempt, longestDelayMs));
    }
  }
}
