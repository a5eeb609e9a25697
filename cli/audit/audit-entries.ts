import type { Cause, StoredEvent } from '@rollcall/shared/events';

/** Types of events by which trust is given, taken or refused. */
const trustEvents = new Set([
  'cluster.refused',
  'cluster.approved',
  'cluster.held',
  'cluster.denied',
  'cluster.revoked',
  'cluster.banned',
  'cluster.unbanned',
  'cluster.predefined',
  'cluster.changed',
  'cluster.cordoned',
  'cluster.uncordoned',
  'cluster.leaving',
  'cluster.left',
  'cluster.admitted',
  'cluster.cut',
  'cluster.provisioned',
  'cluster.deprovisioned',
  'token.declared',
  'token.published',
  'token.used',
  'token.withdrawn',
  'policy.declared',
  'policy.withdrawn',
  'set.declared',
  'set.withdrawn',
  'hub.wishes-held',
  'hub.wishes-confirmed',
  'hub.trust-announced',
  'hub.trust-changed',
]);

export interface AuditEntry {
  readonly at: string;
  readonly what: string;
  /** Name of the cluster, token, policy or set. */
  readonly about: string;
  readonly id: string;
  readonly by: Cause | undefined;
  /** The token by which the cluster came, as namespace/name. */
  readonly token: string | undefined;
  readonly reason: string;
  readonly message: string;
  readonly sequence: number;
}

export interface AuditFilter {
  readonly clusterId?: string | undefined;
  /** Name, or namespace/name. */
  readonly token?: string | undefined;
  readonly person?: string | undefined;
  readonly fromMs?: number | undefined;
}

interface Named {
  readonly clusterName?: unknown;
  readonly namespace?: unknown;
  readonly name?: unknown;
  readonly request?: { readonly tokenName?: unknown; readonly tokenId?: unknown };
}

const text = (value: unknown) => (typeof value === 'string' ? value : undefined);

/** What later events of the same thing do not say again: names, and the token that a cluster came by. */
export interface Remembered {
  readonly names: Map<string, string>;
  readonly tokens: Map<string, string>;
}

export function newMemory(): Remembered {
  return { names: new Map(), tokens: new Map() };
}

function remember(event: StoredEvent, { names, tokens }: Remembered): void {
  const section = (event.section ?? {}) as Named;
  const key = `${event.kind}.${event.id}`;
  const own = text(section.name);
  const namespace = text(section.namespace);
  // A token may say for which cluster it is; that is not its own name.
  const name = event.kind === 'token' ? own && `${namespace}/${own}` : (text(section.clusterName) ?? own);
  if (name !== undefined) names.set(key, name);
  const token = text(section.request?.tokenName);
  if (token !== undefined) tokens.set(key, token);
}

function isOfToken(token: string, wanted: string): boolean {
  return token === wanted || token.slice(token.indexOf('/') + 1) === wanted;
}

/**
 * Reads one event, oldest first.
 * @returns what it says about trust, or undefined where it says nothing or is filtered out
 */
export function auditEntry(
  event: StoredEvent,
  memory: Remembered,
  filter: AuditFilter,
): AuditEntry | undefined {
  remember(event, memory);
  const what = `${event.kind}.${event.type}`;
  if (!trustEvents.has(what)) return undefined;
  const key = `${event.kind}.${event.id}`;
  const about = memory.names.get(key) ?? event.id;
  const token = event.kind === 'token' ? about : memory.tokens.get(key);
  const isWanted =
    (filter.fromMs === undefined || event.timeMs >= filter.fromMs) &&
    (filter.clusterId === undefined || (event.kind === 'cluster' && event.id === filter.clusterId)) &&
    (filter.token === undefined || (token !== undefined && isOfToken(token, filter.token))) &&
    (filter.person === undefined || event.by?.person === filter.person);
  if (!isWanted) return undefined;
  return {
    at: new Date(event.timeMs).toISOString(),
    what,
    about,
    id: event.id,
    by: event.by,
    token,
    reason: event.reason,
    message: event.message,
    sequence: event.sequence,
  };
}
