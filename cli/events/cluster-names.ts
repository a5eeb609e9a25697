import type { EventLog } from '@rollcall/shared/bus';
import { clusterRecord, isSafeId, nameRecord, type StoredEvent, tokenRecord } from '@rollcall/shared/events';
import { RollcallError } from '@rollcall/shared/errors';

/** Sections of some owners carry the name; those of others only follow the id. */
function nameIn(section: unknown): string | undefined {
  const { clusterName } = (section ?? {}) as { clusterName?: unknown };
  return typeof clusterName === 'string' ? clusterName : undefined;
}

/** A declaration says which object it is of; what follows from it only has the id. */
function tokenNameIn(section: unknown): string | undefined {
  const { namespace, name } = (section ?? {}) as { namespace?: unknown; name?: unknown };
  return typeof namespace === 'string' && typeof name === 'string' ? `${namespace}/${name}` : undefined;
}

/**
 * Names of clusters, read from the history once for each that an event does not say itself; undefined where it cannot be read: a
 * name is for people, and no reason not to show what happened.
 */
export interface ClusterNames {
  of(event: Pick<StoredEvent, 'kind' | 'id' | 'section'>): Promise<string | undefined>;
  ofId(clusterId: string): Promise<string | undefined>;
}

export function createClusterNames(log: Pick<EventLog, 'read'>): ClusterNames {
  const names = new Map<string, Promise<string | undefined>>();
  async function lookUp(clusterId: string): Promise<string | undefined> {
    if (!isSafeId(clusterId)) return undefined;
    const { decision, identity } = clusterRecord(await log.read({ kind: 'cluster', id: clusterId }));
    return decision?.clusterName ?? identity?.clusterName;
  }
  /** People know a token by its object; its id is of its key. */
  async function lookUpToken(id: string): Promise<string | undefined> {
    const { declaration } = tokenRecord(await log.read({ kind: 'token', id }));
    return declaration && `${declaration.namespace}/${declaration.name}`;
  }
  function once(key: string, look: () => Promise<string | undefined>): Promise<string | undefined> {
    const known = names.get(key);
    if (known) return known;
    const looking = look().catch(() => {
      names.delete(key);
      return undefined;
    });
    names.set(key, looking);
    return looking;
  }
  const ofId = (clusterId: string) => once(clusterId, () => lookUp(clusterId));
  return {
    ofId,
    of({ kind, id, section }) {
      if (kind === 'token') {
        const said = tokenNameIn(section);
        if (said !== undefined) names.set(`token/${id}`, Promise.resolve(said));
        return once(`token/${id}`, () => lookUpToken(id));
      }
      if (kind !== 'cluster') return Promise.resolve(undefined);
      const name = nameIn(section);
      if (name !== undefined) names.set(id, Promise.resolve(name));
      return ofId(id);
    },
  };
}

/** Who has that name now. */
export async function holderOfName(log: Pick<EventLog, 'read'>, name: string): Promise<string | undefined> {
  return isSafeId(name) ? nameRecord(await log.read({ kind: 'name', id: name })).holder : undefined;
}

/**
 * The id behind what a person typed: a name that a cluster has, an id, or a name that a cluster had last.
 * @param how.isId - only an id is meant
 * @throws RollcallError NOT_FOUND
 */
export async function clusterIdOfTarget(
  log: Pick<EventLog, 'read'>,
  target: string,
  { isId = false }: { isId?: boolean } = {},
): Promise<string> {
  if (isSafeId(target)) {
    const { holder, lastHolder } = nameRecord(await log.read({ kind: 'name', id: target }));
    if (holder !== undefined && !isId) return holder;
    if ((await log.read({ kind: 'cluster', id: target })).head) return target;
    // Of one that has left there is nothing else that a person could look up.
    if (lastHolder !== undefined && !isId) return lastHolder;
  }
  throw new RollcallError('NOT_FOUND', `no cluster has the id or the name "${target}"`);
}
