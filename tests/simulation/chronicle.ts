import {
  type AggregateId,
  type AggregateRecord,
  clusterRecord,
  type Decision,
  firstTypes,
  foldRecord,
  isListedKind,
  nameRecord,
  type StoredEvent,
  tokenRecord,
} from '@rollcall/shared/events';
import { claimsChanged } from '../../services/registrar/join/join-claims.ts';
import { clusterRules, type ClusterStep } from './cluster-rules.ts';
import type { Change, Kept } from './kube-server.ts';
import { Violation } from './violation.ts';
import type { World } from './world.ts';

const nameOf = ({ kind, id }: AggregateId) => `${kind}.${id}`;

/** What the provisioner makes for a member. */
const membersKinds: ReadonlySet<string> = new Set(['namespaces', 'serviceaccounts', 'rolebindings']);

/** What must hold after every single event and every change in Kubernetes, whatever goes wrong. Judges by the stream alone. */
export class Chronicle {
  readonly #fail: (violation: Violation) => void;
  readonly #events = new Map<string, StoredEvent[]>();
  readonly #records = new Map<string, AggregateRecord>();
  readonly #requestsOfToken = new Map<string, number>();
  readonly #clusterOfKey = new Map<string, string>();

  constructor(fail: (violation: Violation) => void) {
    this.#fail = fail;
  }

  appended(world: World, batch: readonly StoredEvent[]): void {
    for (const event of batch) {
      const before = this.#record(event);
      const after = foldRecord(event, [...Object.values(before.lastOf), event]);
      this.#checkChain(world, event, before);
      this.#checkFirst(event, before);
      if (event.kind === 'cluster')
        this.#checkCluster(world, { event, before: clusterRecord(before), after: clusterRecord(after) });
      this.#remember(event, after);
    }
    if (batch.some(({ kind }) => kind === 'cluster' || kind === 'name')) this.#checkNames();
    if (batch.some(({ kind }) => kind === 'cluster' || kind === 'token')) this.#checkTokens();
  }

  /** A namespace, and rights in it, exist only where an approval of this very cluster names it, and gives access to it. */
  changed(_world: World, plural: string, { metadata }: Kept, type: Change['type']): void {
    if (type !== 'ADDED' || !membersKinds.has(plural)) return;
    const isSpace = plural === 'namespaces';
    const place = isSpace ? metadata.name : metadata.namespace;
    const clusterId = metadata.labels?.['rollcall.dev/cluster-id'] ?? '';
    const events = this.#events.get(`cluster.${clusterId}`) ?? [];
    const isApproved = events.some(({ definition, section }) => {
      if (definition.writer !== 'approver') return false;
      const { namespace, access, approvedKey } = section as Decision;
      return approvedKey !== undefined && (isSpace || access === 'Namespace') && namespace === place;
    });
    if (!isApproved) this.#broken('I4 nothing without an approval', `${plural} of ${clusterId} in ${place}`);
  }

  #broken(invariant: string, what: string): void {
    this.#fail(new Violation(invariant, what));
  }

  #record(aggregate: AggregateId): AggregateRecord {
    return this.#records.get(nameOf(aggregate)) ?? foldRecord(aggregate, []);
  }

  #remember(event: StoredEvent, after: AggregateRecord): void {
    this.#records.set(nameOf(event), after);
    const events = this.#events.get(nameOf(event));
    if (events) events.push(event);
    else this.#events.set(nameOf(event), [event]);
  }

  #checkChain(world: World, event: StoredEvent, before: AggregateRecord): void {
    const { sequence, previous, definition } = event;
    const { head } = before;
    if (previous?.sequence !== head?.sequence || previous?.digest !== head?.digest) {
      const what = `event ${sequence} of ${nameOf(event)} follows ${previous?.sequence ?? 'nothing'}, not ${head?.sequence ?? 'nothing'}`;
      this.#broken('I1 the chain is unbroken', what);
    }
    const service = world.writing?.service;
    if (definition.writer !== service)
      this.#broken('only the owner writes its events', `${service} wrote ${definition.type}`);
  }

  #checkFirst({ kind, type, id }: StoredEvent, before: AggregateRecord): void {
    if (before.head !== undefined || !isListedKind(kind)) return;
    const types: readonly string[] = firstTypes[kind];
    if (!types.includes(type)) this.#broken('everything is listed', `${kind}.${id} begins with ${type}`);
  }

  #checkCluster(world: World, step: Pick<ClusterStep, 'event' | 'before' | 'after'>): void {
    const { event, after } = step;
    const history = this.#events.get(nameOf(event)) ?? [];
    for (const { invariant, broken } of clusterRules) {
      const what = broken({ ...step, history, world });
      if (what) this.#broken(invariant, `event ${event.sequence} (${event.id} ${event.type}): ${what}`);
    }
    const { identity } = after;
    const isNew = event.reason !== claimsChanged;
    if (event.type === 'requested' && isNew && identity && identity.request.rotation === undefined) {
      const { tokenId } = identity.request;
      this.#requestsOfToken.set(tokenId, (this.#requestsOfToken.get(tokenId) ?? 0) + 1);
    }
    if (event.type === 'requested') this.#checkKey(event.id, identity?.request.key);
    if (event.type === 'admitted') this.#checkKey(event.id, identity?.admittedKey);
  }

  /** From its first request on a key is that cluster's, also once it has left. */
  #checkKey(clusterId: string, key: string | undefined): void {
    if (key === undefined) return;
    const owner = this.#clusterOfKey.get(key) ?? clusterId;
    if (owner !== clusterId) this.#broken('I3 one cluster for each key', `${key}: ${owner} and ${clusterId}`);
    this.#clusterOfKey.set(key, clusterId);
  }

  #checkTokens(): void {
    for (const [tokenId, requests] of this.#requestsOfToken) {
      const { declaration } = tokenRecord(this.#record({ kind: 'token', id: tokenId }));
      const { uses = 0, name } = declaration ?? {};
      if (uses !== 'unlimited' && requests > uses)
        this.#broken(
          'a token lets in no more than its uses',
          `${name}: ${requests} requests, ${uses} use(s)`,
        );
    }
  }

  #checkNames(): void {
    const clusterOf = new Map<string, string>();
    for (const name of this.#events.keys()) {
      if (!name.startsWith('cluster.')) continue;
      const id = name.slice('cluster.'.length);
      const { identity, decision } = clusterRecord(this.#record({ kind: 'cluster', id }));
      if (identity?.state !== 'requested' && identity?.state !== 'admitted') continue;
      for (const taken of new Set([identity.clusterName, decision?.approvedKey && decision.clusterName])) {
        if (taken === undefined) continue;
        const other = clusterOf.get(taken);
        if (other !== undefined)
          this.#broken('a name belongs to one cluster', `${taken}: ${other} and ${id}`);
        clusterOf.set(taken, id);
        const { holder } = nameRecord(this.#record({ kind: 'name', id: taken }));
        if (holder !== id)
          this.#broken(
            'a cluster holds its name',
            `${id} is called ${taken}, which belongs to ${holder ?? 'nobody'}`,
          );
      }
    }
  }
}
