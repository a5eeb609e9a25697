import { RollcallError } from '@rollcall/shared/errors';
import { readHubInfo } from '@rollcall/shared/hub';
import { isNotFound, resources } from '@rollcall/shared/kubernetes';
import { annotations } from '@rollcall/shared/resources';
import { type HubFlags, openHub, sayHub } from '../hub-access.ts';
import { printResult, say } from '../output.ts';

export interface RenewTokenFlags extends HubFlags {
  readonly namespace: string;
  readonly dryRun?: boolean;
}

/**
 * Says that tokens of before a restore shall count in the hub's present life. What was spent of them by then is spent; what was
 * spent later, the hub has forgotten.
 * @throws RollcallError NOT_FOUND, HUB_MISSING; KubeApiError
 */
export async function renewTokens(names: readonly string[], flags: RenewTokenFlags): Promise<void> {
  const client = openHub(flags);
  const { namespace, dryRun = false } = flags;
  try {
    sayHub(client);
    const { epoch } = await readHubInfo(client);
    const patch = { metadata: { annotations: { [annotations.epoch]: String(epoch) } } };
    for (const name of names) {
      try {
        await client.mergePatch(resources.clusterRegistrationTokens, name, patch, { namespace, dryRun });
      } catch (error) {
        if (!isNotFound(error)) throw error;
        throw new RollcallError('NOT_FOUND', `namespace "${namespace}" has no token "${name}"`, {
          cause: error,
        });
      }
      if (!dryRun) printResult(`token "${namespace}/${name}" counts in epoch ${epoch}`);
    }
    if (dryRun) say('you may do this (dry run; nothing was changed)');
  } finally {
    client.close();
  }
}
