import { readToken, setProblem } from '@rollcall/approver/token';
import { RollcallError } from '@rollcall/shared/errors';
import { isForbidden, type KubeClient, resources, type StoredObject } from '@rollcall/shared/kubernetes';
import type { ClusterRegistrationToken, ManagedClusterSet } from '@rollcall/shared/resources';
import { say } from '../output.ts';
import { withProgress } from '../progress.ts';

type ClusterSet = ManagedClusterSet & { readonly metadata: object };

/** Why nobody can be put into that set; who may not see sets cannot know. */
async function problemOfSet(client: KubeClient, name: string): Promise<string | undefined> {
  try {
    const set = client.get<ClusterSet>(resources.managedClusterSets, { name });
    return setProblem(name, await withProgress('reading the set', set));
  } catch (error) {
    if (!isForbidden(error)) throw error;
    say(`you may not look whether there is a set "${name}"`);
    return undefined;
  }
}

/**
 * Says of a token that was not made what the hub would say of it, by the rules of the approver.
 * @param token - as the API server would have made it
 * @throws RollcallError TOKEN_REFUSED; KubeApiError
 */
export async function tryToken(
  client: KubeClient,
  token: StoredObject<ClusterRegistrationToken>,
): Promise<void> {
  const { clusterSet, ttl } = token.spec;
  const ofSet = clusterSet === undefined ? undefined : await problemOfSet(client, clusterSet);
  // Whether it takes those without an end is a setting of the hub, which is not seen from here.
  const { problem } = readToken(token, { nowMs: Date.now(), allowEndless: true, setProblem: ofSet });
  if (problem) {
    const why = `${problem.reason}, ${problem.message}`;
    throw new RollcallError('TOKEN_REFUSED', `the hub would not take the token: ${why}`);
  }
  if (ttl === '0')
    say('only a hub whose approver has `allowEndlessTokens: true` takes a token without an end (--ttl 0)');
  say('a token like this would be made (dry run)');
}
