import { RollcallError } from '@rollcall/shared/errors';
import { readHubInfo } from '@rollcall/shared/hub';
import { isNotFound, resources } from '@rollcall/shared/kubernetes';
import { annotations } from '@rollcall/shared/resources';
import type { ShownObject } from '../get/object-text.ts';
import { type DoneFormat, printObjects } from '../get/print-objects.ts';
import { type HubFlags, openHub, sayHub } from '../hub-access.ts';
import { printResult, say } from '../terminal/output.ts';
import { withProgress } from '../terminal/progress.ts';

export interface RenewTokenFlags extends HubFlags {
  readonly namespace: string;
  readonly dryRun?: boolean;
  readonly output: DoneFormat;
}

/**
 * Says that tokens of before a restore shall count in the hub's present epoch. What was spent of them by then is spent; what was
 * spent later, the hub has forgotten.
 * @throws RollcallError USAGE, NOT_FOUND, HUB_MISSING; KubeApiError
 */
export async function renewTokens(names: readonly string[], flags: RenewTokenFlags): Promise<void> {
  // As a name it would be sent, and stand in the message.
  if (names.some((name) => /^\s*rc1\./i.test(name)))
    throw new RollcallError('USAGE', 'give the name of the token, and not the token itself');
  const client = openHub(flags);
  const { namespace, dryRun = false, output } = flags;
  const resource = resources.clusterRegistrationTokens;
  try {
    sayHub(client);
    const { epoch } = await withProgress('reading the hub', readHubInfo(client));
    const patch = { metadata: { annotations: { [annotations.epoch]: String(epoch) } } };
    const renewed: ShownObject[] = [];
    for (const name of names) {
      try {
        const renewing = client.mergePatch(resource, name, patch, { namespace, dryRun });
        renewed.push(await withProgress('renewing the token', renewing));
      } catch (error) {
        if (!isNotFound(error)) throw error;
        throw new RollcallError('NOT_FOUND', `namespace "${namespace}" has no token "${name}"`, {
          cause: error,
        });
      }
      if (!dryRun && output === 'text') printResult(`token "${namespace}/${name}" counts in epoch ${epoch}`);
    }
    if (dryRun) say('you may do this (dry run; nothing was changed)');
    else if (output !== 'text') printObjects(renewed, { resource, isOne: names.length === 1, output });
  } finally {
    client.close();
  }
}
