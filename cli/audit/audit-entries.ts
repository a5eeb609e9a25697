import type { Cause, StoredEvent } from '@rollcall/shared/events';
import { keysInEvent } from './keys-in-event.ts';

/** Types of events by which trust is given, taken or refused. */
export const trustEvents: ReadonlySet<string> = new Set([
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
  'cluster.leave-requested',
  'cluster.leaving',
  'cluster.cleaned',
  'cluster.left',
  'cluster.admitted',
  'cluster.pinned',
  'cluster.rotation-requested',
  'cluster.rotated',
  'cluster.cut',
  'cluster.provisioned',
  'cluster.access-given',
  'cluster.deprovisioned',
  'cluster.hosted',
  'cluster.agent-installed',
  'token.declared',
  'token.published',
  'token.used',
  'token.withdrawn',
  'policy.declared',
  'policy.withdrawn',
  'set.declared',
  'set.withdrawn',
  'hub.admission-changed',
  'hub.bulk-held',
  'hub.bulk-confirmed',
  'hub.trust-announced',
  'hub.trust-changed',
  'hub.archived',
  'hub.restored',
  'hub.restore-reviewed',
]);

export interface AuditEntry {
  readonly at: string;
  readonly what: string;
  /** Name of the cluster, token, policy or set. */
  readonly about: string;
  readonly id: string;
  readonly by: Cause;
  /** The token by which the cluster came, as namespace/name. */
  readonly token: string | undefined;
  /** Fingerprints of the keys that it lets in, puts out, or that asked. */
  readonly keys: readonly string[];
  readonly reason: string;
  readonly message: string;
  /** Which service wrote it, and the request that it goes back to. */
  readonly source: string;
  readonly correlation: string;
  readonly sequence: number;
}

export interface AuditFilter {
  readonly clusterId?: string | undefined;
  /** Name, or namespace/name. */
  readonly token?: string | undefined;
  /** Who decided, or whose operation waits in a bulk change. */
  readonly person?: string | undefined;
  /** Fingerprint. */
  readonly key?: string | undefined;
  readonly fromMs?: number | undefined;
}

interface Named {
  readonly clusterName?: unknown;
  readonly namespace?: unknown;
  readonly name?: unknown;
  readonly request?: { readonly tokenName?: unknown; readonly tokenId?: unknown };
  readonly held?: BulkChange;
  readonly confirmed?: BulkChange;
}

/** A bulk change names the clusters and people in it. */
interface BulkChange {
  readonly operations?: readonly { readonly clusterId?: unknown; readonly person?: unknown }[];
}

const text = (value: unknown) => (typeof value === 'string' ? value : undefined);

/** What later events of the same thing do not say again: names, and the token that a cluster came by. */
export interface Remembered {
  readonly names: Map<string, string>;
  readonly tokens: Map<string, string>;
  /** Keys that were taken back so far. */
  readonly takenKeys: Map<string, Set<string>>;
}

export function newMemory(): Remembered {
  return { names: new Map(), tokens: new Map(), takenKeys: new Map() };
}

/** @returns the keys that the event is about */
function remember(event: StoredEvent, { names, tokens, takenKeys }: Remembered): string[] {
  const section = (event.section ?? {}) as Named;
  const key = `${event.kind}.${event.id}`;
  const own = text(section.name);
  const namespace = text(section.namespace);
  // A token may say for which cluster it is; that is not its own name.
  const name = event.kind === 'token' ? own && `${namespace}/${own}` : (text(section.clusterName) ?? own);
  if (name !== undefined) names.set(key, name);
  const token = text(section.request?.tokenName);
  if (token !== undefined) tokens.set(key, token);
  const taken = takenKeys.get(key) ?? new Set();
  takenKeys.set(key, taken);
  return keysInEvent(event, taken);
}

/** Of a cluster or of a bulk change that has it in it. */
function isAbout(event: StoredEvent, clusterId: string): boolean {
  return (
    (event.kind === 'cluster' && event.id === clusterId) ||
    operationsIn(event).some((operation) => operation.clusterId === clusterId)
  );
}

function operationsIn({ kind, section }: StoredEvent) {
  const { held, confirmed } = kind === 'hub' ? ((section ?? {}) as Named) : {};
  return [...(held?.operations ?? []), ...(confirmed?.operations ?? [])];
}

function isOfPerson(event: StoredEvent, person: string): boolean {
  return event.by?.person === person || operationsIn(event).some((operation) => operation.person === person);
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
  const keys = remember(event, memory);
  const what = `${event.kind}.${event.type}`;
  if (!trustEvents.has(what)) return undefined;
  const key = `${event.kind}.${event.id}`;
  const about = memory.names.get(key) ?? event.id;
  const token = event.kind === 'token' ? about : memory.tokens.get(key);
  const isWanted =
    (filter.fromMs === undefined || event.timeMs >= filter.fromMs) &&
    (filter.clusterId === undefined || isAbout(event, filter.clusterId)) &&
    (filter.token === undefined || (token !== undefined && isOfToken(token, filter.token))) &&
    (filter.person === undefined || isOfPerson(event, filter.person)) &&
    (filter.key === undefined || keys.includes(filter.key));
  if (!isWanted) return undefined;
  return {
    at: new Date(event.timeMs).toISOString(),
    what,
    about,
    id: event.id,
    // Without a cause, it is a service that acts by its own rules.
    by: event.by ?? { service: event.definition.writer },
    token,
    keys,
    reason: event.reason,
    message: event.message,
    source: event.source,
    correlation: event.correlation,
    sequence: event.sequence,
  };
}
