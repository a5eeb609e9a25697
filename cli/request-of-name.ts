import { RollcallError } from '@rollcall/shared/errors';
import { predefinedId } from '@rollcall/shared/events';
import { isForbidden, type KubeClient, resources, type StoredObject } from '@rollcall/shared/kubernetes';
import { labels, type ManagedCluster } from '@rollcall/shared/resources';

type Named = {
  readonly metadata: { readonly name?: string | undefined };
  readonly spec?:
    | {
        readonly clusterName?: string | undefined;
        readonly keyFingerprint?: string | undefined;
        readonly knownKeyFingerprint?: string | undefined;
      }
    | undefined;
  readonly status?:
    | { readonly result?: string | undefined; readonly reason?: string | undefined }
    | undefined;
};

/** Why a cluster that was let in has not got what it was given (services/rbac-provisioner/access/provision.ts). */
const failuresOfProvisioning: ReadonlySet<string | undefined> = new Set([
  'NamespaceTaken',
  'ObjectTaken',
  'ClusterNameReserved',
  'KubeApi',
]);

/** Whether the registrar refused it: nobody has decided, and no decision is acted on. */
export function wasRefusedUnjudged(status: Named['status']): boolean {
  return status?.result === 'Failed' && !failuresOfProvisioning.has(status.reason);
}

/** Of a cluster that is a member, or was let in: nobody comes to look so by asking. */
function isIn({ spec, status }: Named): boolean {
  if (status?.result === 'Approved' || spec?.knownKeyFingerprint !== undefined) return true;
  return status?.result === 'Failed' && !wasRefusedUnjudged(status);
}

/** What agents make of the UID of `kube-system`. Nobody names a cluster like that, so that it cannot be taken for a name. */
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Which request a word means that is the name of no cluster: the one that asks by that name; else the one with that id. One that was
 * refused has no name, whatever it asked for. The id of a stranger counts where it is a UUID: any other word could be the name of a
 * cluster that is not shown (`projection: exceptions`).
 * @returns undefined where there is neither
 * @throws RollcallError USAGE where the word could mean several: strangers choose their names, and their ids as well
 */
export function requestOfWord<Request extends Named>(
  all: readonly Request[],
  word: string,
  /** Of the command that is to be typed instead. */
  command: string,
): Request | undefined {
  const named = all.filter(({ spec }) => spec?.clusterName === word);
  const ofId = all.find(({ metadata }) => metadata.name === word);
  const byId = ofId && (uuid.test(word) || isIn(ofId) || named.length > 0) ? ofId : undefined;
  const holders = named.filter(({ status }) => !wasRefusedUnjudged(status));
  const [holder] = holders;
  if (holders.length > 1) throw severalMeant(holders, word, command);
  if (holder) {
    const isMeant = !byId || byId === holder || wasRefusedUnjudged(byId.status) || isIn(holder);
    if (isMeant) return holder;
    throw severalMeant([holder, byId], word, command);
  }
  if (byId && isIn(byId)) return byId;
  const meant = [...new Set([...named, ...(byId ? [byId] : [])])];
  if (meant.length > 1) throw severalMeant(meant, word, command);
  if (!byId && ofId && meant.length === 0) throw onlyAnId(ofId, word, command);
  return meant[0];
}

function onlyAnId(stranger: Named, word: string, command: string): RollcallError {
  const { clusterName = '', keyFingerprint = 'unknown' } = stranger.spec ?? {};
  return new RollcallError(
    'USAGE',
    `"${word}" is no cluster's name, but the id of a request: \`${command} --id ${word}\` decides it (cluster "${clusterName}", key ${keyFingerprint})`,
  );
}

function severalMeant(meant: readonly Named[], word: string, command: string): RollcallError {
  const commands = meant.map(({ metadata, spec }) => {
    const { clusterName = '', keyFingerprint = 'unknown' } = spec ?? {};
    return `\`${command} --id ${metadata.name ?? ''}\` (cluster "${clusterName}", key ${keyFingerprint})`;
  });
  return new RollcallError('USAGE', `"${word}" could mean several requests: ${commands.join(', or ')}`);
}

/**
 * The cluster that has a name, and the id that its request goes by. Not asked of a person who may see no clusters.
 * @throws KubeApiError
 */
export async function clusterOfName(
  client: Pick<KubeClient, 'get'>,
  name: string,
): Promise<{
  cluster: StoredObject<ManagedCluster & { metadata: object }> | undefined;
  id: string | undefined;
}> {
  const read = () => client.get<ManagedCluster & { metadata: object }>(resources.managedClusters, { name });
  const cluster = await read().catch((error: unknown) => {
    if (isForbidden(error)) return undefined;
    throw error;
  });
  if (!cluster) return { cluster, id: undefined };
  return { cluster, id: predefinedId(cluster.spec) ?? cluster.metadata.labels?.[labels.clusterId] };
}
