import { setTimeout as delay } from 'node:timers/promises';
import { whyAdmissionIsMissing } from '@rollcall/approver';
import { RollcallError } from '@rollcall/shared/errors';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import type { RunningService } from '@rollcall/shared/service';

/** The API server takes up to ten seconds after its start to learn the kinds that its admission policies are about (measured). */
const withinMs = 60_000;
const pollMs = 200;

/**
 * Waits until the approver hears people: what is written before may have been written while nobody checked it. Over a history that
 * is lost it hears nobody until a person has said how to go on, so that is not waited for.
 * @throws RollcallError ADMISSION_MISSING with the reason
 */
export async function untilPeopleAreHeard(
  approver: Pick<RunningService, 'notReady' | 'degraded'>,
): Promise<void> {
  // Its own look at the admission policies may be older than ours: what is written before its next one does not count.
  const notHeard = () => approver.notReady() ?? approver.degraded();
  let why = notHeard();
  for (const deadlineMs = performance.now() + withinMs; why !== undefined; why = notHeard()) {
    if (why.startsWith('HISTORY_LOST')) return;
    if (performance.now() > deadlineMs) throw new RollcallError('ADMISSION_MISSING', why);
    await delay(pollMs / 4);
  }
}

/**
 * Waits until the API server refuses what the admission policies must refuse; until then people's decisions would be held, or refused as
 * "kind not found".
 * @param probe - a client of rollcall-admission-probe
 * @throws RollcallError ADMISSION_MISSING with the reason
 */
export async function untilAdmissionInPlace(probe: KubeClient): Promise<void> {
  let why: string | undefined;
  for (const deadlineMs = performance.now() + withinMs; performance.now() < deadlineMs; await delay(pollMs)) {
    why = await whyAdmissionIsMissing(probe);
    if (why === undefined) return;
  }
  throw new RollcallError('ADMISSION_MISSING', why ?? 'the admission policies were not probed');
}
