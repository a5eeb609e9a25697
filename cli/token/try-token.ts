import { readToken } from '@rollcall/approver/token';
import { RollcallError } from '@rollcall/shared/errors';
import { isForbidden, type KubeClient, resources, type StoredObject } from '@rollcall/shared/kubernetes';
import {
  type ClusterRegistrationToken,
  type ManagedClusterSet,
  namespaces,
} from '@rollcall/shared/resources';
import { setProblem } from '@rollcall/shared/resources/set-problem';
import { openBus } from '../events/open-bus.ts';
import type { HubFlags } from '../hub-access.ts';
import { say } from '../terminal/output.ts';
import { withProgress } from '../terminal/progress.ts';
import { askServices, figureOf } from '../status/ask-services.ts';

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

/** A setting of the approver, which tells it to who may ask it. @returns undefined where it does not answer */
async function allowsEndless(flags: HubFlags): Promise<boolean | undefined> {
  const bus = await openBus(flags).catch(() => undefined);
  if (!bus) return undefined;
  try {
    const said = figureOf(
      await withProgress('asking the approver', askServices(bus.nc)),
      'approver',
      'endlessTokens',
    );
    return said === undefined ? undefined : said === 1;
  } finally {
    await bus.nc.close();
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
  flags: HubFlags,
): Promise<void> {
  const { clusterSet, ttl } = token.spec;
  const ofSet = clusterSet === undefined ? undefined : await problemOfSet(client, clusterSet);
  const allowEndless = ttl === '0' && (await allowsEndless(flags));
  if (allowEndless === undefined)
    throw new RollcallError(
      'TOKEN_REFUSED',
      'whether the hub takes a token without an end (--ttl 0) only its approver says, and it cannot be asked from here',
    );
  const { namespace } = token.metadata;
  if (namespace !== namespaces.join)
    say(`whether tokens in namespace "${namespace}" count only the approver knows (tokenNamespaces)`);
  const rules = { allowEndless, namespaces: 'any' } as const;
  const { problem } = readToken(token, { ...rules, nowMs: Date.now(), setProblem: ofSet });
  if (problem) {
    const why = `${problem.reason}, ${problem.message}`;
    throw new RollcallError('TOKEN_REFUSED', `the hub would not take the token: ${why}`);
  }
  say('a token like this would be made (dry run)');
}
