import { RollcallError } from '@rollcall/shared/errors';
import { isForbidden, type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import {
  confirmations,
  heldOperationsPlace,
  readShownOperations,
  type ShownOperation,
} from '@rollcall/shared/resources';
import { userName } from '../decide/user-name.ts';
import { timeoutFlagMs } from '../duration-flag.ts';
import { type HubFlags, openHub, sayHub } from '../hub-access.ts';
import type { Outcome } from '../get/print-objects.ts';
import { say } from '../terminal/output.ts';
import { withProgress } from '../terminal/progress.ts';
import { waitForObject } from '../wait-for-object.ts';
import { type ConfirmedProgress, confirmedProgress } from './confirmed-progress.ts';
import { someNames } from '../terminal/some-names.ts';
import { shownOperations, type OperationsObject } from './shown-operations.ts';

export interface ConfirmFlags extends HubFlags {
  readonly wait: boolean;
  readonly timeout: string;
  readonly dryRun?: boolean;
}

type ConfirmationObject = KubeObject & { readonly data?: Readonly<Record<string, string>> };

/** What `bulk-held` prints. */
const idForm = /^b-[0-9a-f]{10}$/;

/** What the id stands for, so that a person sees what is going to happen; without it nothing could be waited for. */
async function operationsNamed(client: KubeClient, id: string): Promise<readonly ShownOperation[]> {
  const { held } = await shownOperations(client);
  if (held?.id === id) return held.operations;
  const now = held ? `what is held now has the id ${held.id}` : 'nothing is held now';
  throw new RollcallError('NOT_FOUND', `no held operations have the id "${id}"; ${now}`);
}

/** `3 leaving (edge-1, edge-2, edge-3), 1 revoked (edge-4)` */
function wordsOf(operations: readonly ShownOperation[]): string {
  const byOperation = Map.groupBy(operations, ({ operation }) => operation);
  const parts = [...byOperation].map(
    ([operation, each]) => `${each.length} ${operation} (${someNames(each.map(({ cluster }) => cluster))})`,
  );
  return parts.join(', ');
}

async function untilActedOn(
  client: KubeClient,
  id: string,
  { asked, timeoutMs }: { asked: readonly ShownOperation[]; timeoutMs: number },
): Promise<string> {
  let last: ConfirmedProgress = { state: 'waiting' };
  const on = { resource: resources.configMaps, ...heldOperationsPlace, timeoutMs };
  const waiting = waitForObject<OperationsObject>(client, on, ({ data }) => {
    last = confirmedProgress(id, asked, readShownOperations(data));
    return last.state === 'done' || last.state === 'joined';
  });
  await withProgress(`waiting until the hub has acted on ${asked.length} operations`, waiting);
  // What the watch saw last; the compiler takes a variable that a callback writes for what it was before.
  const seen = last as ConfirmedProgress;
  switch (seen.state) {
    case 'done':
      return `${id} is confirmed, and the hub has acted on it: ${wordsOf(asked)}`;
    case 'joined':
      throw new RollcallError(
        'BULK_HELD',
        `another operation has joined the list before the hub looked, so nothing was confirmed; the list is now ${seen.id}`,
      );
    case 'waiting':
      throw new RollcallError(
        'DEADLINE_EXCEEDED',
        `your confirmation is written, and the hub has not taken it within ${timeoutMs / 1000} s: \`rollcall status\` says whether the approver works and the admission policies are in place`,
      );
    case 'acting': {
      const { left } = seen;
      throw new RollcallError(
        'DEADLINE_EXCEEDED',
        `${id} is confirmed; ${asked.length - left.length} of ${asked.length} operations were acted on within ${timeoutMs / 1000} s, not yet: ${wordsOf(left)} (one that was taken back is never acted on)`,
      );
    }
  }
}

/**
 * Confirms a bulk change that the hub holds, and waits until it has acted on them. The id names exactly the list that was
 * shown: when another operation has joined it since, nothing follows, and there is a new id.
 * @throws RollcallError USAGE, NOT_FOUND, OPERATION_FORBIDDEN, BULK_HELD, DEADLINE_EXCEEDED, HUB_MISSING; KubeApiError
 */
export async function confirmOperations(id: string, flags: ConfirmFlags): Promise<Outcome> {
  if (!idForm.test(id))
    throw new RollcallError('USAGE', `"${id}" is no id of held operations, such as b-0123456789`);
  const timeoutMs = timeoutFlagMs(flags.timeout);
  const { dryRun = false, wait } = flags;
  const { name, namespace } = confirmations;
  const client = openHub(flags);
  try {
    sayHub(client);
    const patch = { data: { confirm: id, by: await userName(client) } };
    const write = (isTrial: boolean) =>
      client.mergePatch<KubeObject>(resources.configMaps, name, patch, { namespace, dryRun: isTrial });
    /** One that stands there already and was not taken does not count; one that is written does. */
    const confirmAnew = async () => {
      const before = await client.get<ConfirmationObject>(resources.configMaps, { name, namespace });
      if (before?.data?.['confirm'] === id)
        await client.mergePatch(resources.configMaps, name, { data: null }, { namespace });
      await write(false);
    };
    await withProgress('asking whether you may', write(true));
    if (dryRun) return { words: 'you may confirm this (dry run; nothing was changed)', isNothingDone: true };
    // Whoever does not wait may confirm while the projection is away too.
    const asked = wait ? await withProgress('reading what is held', operationsNamed(client, id)) : [];
    if (wait) say(`${id}: ${wordsOf(asked)}`);
    await withProgress('writing the confirmation', confirmAnew());
    const words = wait
      ? await untilActedOn(client, id, { asked, timeoutMs })
      : `your confirmation of ${id} is written; \`rollcall get operations\` shows what still waits`;
    return { words };
  } catch (cause) {
    if (!isForbidden(cause)) throw cause;
    throw new RollcallError('OPERATION_FORBIDDEN', cause.message, { cause });
  } finally {
    client.close();
  }
}
