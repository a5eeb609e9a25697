import type { Action } from '@rollcall/console';
import { RollcallError } from '@rollcall/shared/errors';
import { cordonCluster } from '../decide/cordon-cluster.ts';
import { operationForCluster } from '../decide/cluster-operation.ts';
import { decideRequest } from '../decide/decide-request.ts';
import { moveCluster } from '../decide/move-cluster.ts';
import { rotateKey } from '../decide/rotate-key.ts';
import type { BusFlags } from '../events/bus-access.ts';
import type { Outcome } from '../get/print-objects.ts';
import { unregister } from '../unregister/unregister.ts';

/** As the commands have it. */
const timeout = '30s';
const leavesWithin = '2m';
const rotatesWithin = '60s';

/** Does what the command of the same name does. */
export async function runAction(
  flags: BusFlags,
  { verb, target, isId, reason, replaceKey, key, set, dryRun }: Action,
): Promise<Outcome> {
  const common = {
    ...flags,
    timeout,
    output: 'text',
    dryRun: dryRun ?? false,
    ...(reason === undefined || reason === '' ? {} : { reason }),
  } as const;
  switch (verb) {
    case 'approve':
    case 'deny': {
      const keys = {
        ...(replaceKey === undefined ? {} : { replaceKey }),
        ...(key === undefined ? {} : { seenKey: key }),
      };
      return decideRequest(verb, target, { ...common, ...keys, id: isId ?? false });
    }
    case 'cordon':
    case 'uncordon':
      return cordonCluster(verb, target, common);
    case 'move':
      if (set === undefined) throw new RollcallError('USAGE', 'to which set?');
      return moveCluster(target, { ...common, to: set });
    case 'rotate':
      return rotateKey(target, { ...common, timeout: rotatesWithin });
    case 'revoke':
    case 'ban':
    case 'unban':
      return operationForCluster(verb, target, common);
    case 'unregister':
      return unregister(target, { ...common, timeout: leavesWithin });
  }
}
