import type { EventLog } from '@rollcall/shared/bus';
import { createReconciler, decideAndAppend } from '@rollcall/shared/decisions';
import { toRollcallError } from '@rollcall/shared/errors';
import { createEventId, bulkAggregate } from '@rollcall/shared/events';
import {
  createResourceCache,
  type KubeClient,
  type KubeObject,
  objectKey,
  resources,
  type StoredObject,
} from '@rollcall/shared/kubernetes';
import { confirmations } from '@rollcall/shared/resources';
import type { Logger } from '@rollcall/shared/service';
import { boundedWord, objectName } from '../admission/object-words.ts';
import type { AdmissionGate } from '../admission/while-admission-in-place.ts';
import { type Confirmation, confirmationWaits, decideConfirmation } from './bulk-change.ts';

/** The ConfigMap in which a bulk change is confirmed. */
export type ConfirmationObject = KubeObject & { readonly data?: Readonly<Record<string, string>> };

/** @returns undefined where nobody confirms, or nobody says who: the admission policies do not let that through */
function readConfirmation({
  data,
}: Pick<StoredObject<ConfirmationObject>, 'data'>): Confirmation | undefined {
  const { confirm: id, by } = data ?? {};
  return id && by ? { id, by } : undefined;
}

/** What of it the admission policies check. */
export function confirmationWords(object: StoredObject<ConfirmationObject>): string[] {
  const confirmation = readConfirmation(object);
  return confirmation ? [boundedWord(`confirm:${confirmation.id}`)] : [];
}

/** What was confirmed before is mostly acted on in seconds. */
const lookAgainMs = 1000;

/**
 * Turns what a person writes into the ConfigMap of confirmations into `bulk-confirmed` (ADR 11); what was
 * written while the admission policies did not hold does not count. An id counts once: it names a list that is no longer held afterwards.
 */
export function followConfirmations(parts: {
  readonly log: EventLog;
  readonly client: KubeClient;
  readonly logger: Logger;
  readonly gate: AdmissionGate;
  nowMs(): number;
  /** Something may pass now that was held. */
  onConfirmed(): void;
}): { lookAgain(): void; drain(): Promise<void> } {
  const { log, client, logger, gate } = parts;
  const listedAs = objectName(resources.configMaps.plural, objectKey(confirmations));

  const looks = createReconciler({
    logger,
    async handle(name) {
      const object = cache.get(name);
      const confirmation = object && readConfirmation(object);
      const unproven = gate.unproven.of(listedAs);
      if (!confirmation || confirmationWords(object).some((word) => unproven.has(word))) return;
      const gather = async () => {
        const bulk = await log.read(bulkAggregate);
        return { bulk, confirmation, nowMs: parts.nowMs() };
      };
      const context = await gather();
      if (confirmationWaits(context)) return wakeLater();
      if (decideConfirmation(context).length === 0) return;
      const why = await gate.whyHeld();
      if (why !== undefined) {
        logger.warn(
          { code: 'ADMISSION_MISSING', reason: why },
          'a confirmation waits for the admission policies',
        );
        return;
      }
      const trace = { correlation: createEventId(parts.nowMs()) };
      const { drafts } = await decideAndAppend(log, { gather, decide: decideConfirmation }, trace);
      // Another replica may have confirmed what was listed before.
      if (drafts.length === 0) return wakeLater();
      for (const { message } of drafts) logger.info({ person: confirmation.by }, message);
      parts.onConfirmed();
    },
  });
  const cache = createResourceCache<ConfirmationObject>(client, resources.configMaps, {
    signal: gate.signal,
    namespace: confirmations.namespace,
    fieldSelector: `metadata.name=${confirmations.name}`,
    onError: (error) =>
      logger.warn({ err: toRollcallError(error), object: confirmations.name }, 'watch was interrupted'),
  });
  const wake = () => looks.wake(`${confirmations.namespace}/${confirmations.name}`);
  function wakeLater(): void {
    setTimeout(() => {
      if (!gate.signal.aborted) wake();
    }, lookAgainMs).unref();
  }
  cache.onChange(({ kind, object }) => {
    gate.unproven.seen(listedAs, kind === 'deleted' ? [] : confirmationWords(object));
    wake();
  });

  return {
    lookAgain: wake,
    async drain() {
      await cache.whenEnded;
      await looks.drain();
    },
  };
}
