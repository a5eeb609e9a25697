import type { KubeClient } from '@rollcall/shared/kubernetes';
import { RollcallError } from '@rollcall/shared/errors';
import { kinds, refusedClusters } from '../doctor/examine-kubernetes.ts';
import { examineMemberApi } from '../doctor/examine-member-api.ts';
import { examineKeys, examinePods } from '../doctor/examine-pods.ts';
import { examine, type Finding } from '../doctor/finding.ts';
import type { Problem } from './problems.ts';

/** For one question with all its pages. */
export const askWithinMs = 5000;

async function ask(
  check: string,
  look: (signal: AbortSignal) => Promise<Finding | readonly Finding[]>,
): Promise<readonly Finding[]> {
  const signal = AbortSignal.timeout(askWithinMs);
  return examine(check, () =>
    look(signal).catch((thrown: unknown) => {
      if (!signal.aborted) throw thrown;
      throw new RollcallError('DEADLINE_EXCEEDED', `no answer within ${askWithinMs / 1000} s`);
    }),
  );
}

/**
 * What no service tells: kinds that are gone, a member gateway that the API server does not reach, pods that do not start, keys of
 * another hub, and objects that define no cluster, because id or name are another's.
 * @param workloads - where the pods of the hub run
 */
export async function lookAtObjects(client: KubeClient, workloads: KubeClient = client): Promise<Problem[]> {
  const found = await Promise.all([
    ask('kinds', () => kinds(client)),
    ask('clusters', (signal) => refusedClusters(client, signal)),
    ask('member access', () => examineMemberApi(client)),
    ask('pods', () => examinePods(workloads)),
    ask('keys', () => examineKeys(client, workloads)),
  ]);
  return found.flat().flatMap((one): Problem[] => {
    if (one.outcome !== 'finding') return [];
    const { check, message, next, code } = one;
    return [{ text: `${check}: ${message}`, next, severity: code === undefined ? 'wrong' : 'unknown' }];
  });
}
