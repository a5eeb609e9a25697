import { RollcallError } from '@rollcall/shared/errors';
import { isForbidden, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { confirmations } from '@rollcall/shared/resources';
import { type HubFlags, openHub, sayHub } from '../hub-access.ts';
import { printResult, say } from '../output.ts';
import { withProgress } from '../progress.ts';
import { userName } from './user-name.ts';

export interface ConfirmFlags extends HubFlags {
  readonly dryRun?: boolean;
}

/** What `wishes-held` prints. */
const idForm = /^w-[0-9a-f]{10}$/;

/**
 * Confirms a mass of wishes that the hub holds. The id names exactly the list that was shown: when another wish has joined it
 * since, nothing follows, and there is a new id.
 * @throws RollcallError USAGE, WISH_FORBIDDEN, HUB_MISSING; KubeApiError
 */
export async function confirmWishes(id: string, flags: ConfirmFlags): Promise<void> {
  if (!idForm.test(id))
    throw new RollcallError('USAGE', `"${id}" is no id of held wishes, such as w-0123456789`);
  const { dryRun = false } = flags;
  const { name, namespace } = confirmations;
  const client = openHub(flags);
  try {
    sayHub(client);
    const patch = { data: { confirm: id, by: await userName(client) } };
    const writing = client.mergePatch<KubeObject>(resources.configMaps, name, patch, { namespace, dryRun });
    await withProgress('writing the confirmation', writing);
    if (dryRun) say('you may confirm this (dry run; nothing was changed)');
    else
      printResult(
        `${id} is confirmed, if it is the id of what is held now; \`rollcall events --type wishes-confirmed\` shows it`,
      );
  } catch (cause) {
    if (!isForbidden(cause)) throw cause;
    throw new RollcallError('WISH_FORBIDDEN', cause.message, { cause });
  } finally {
    client.close();
  }
}
