import type { EventLog, FactStore } from '@rollcall/shared/bus';
import type { StoredObject } from '@rollcall/shared/kubernetes';
import type { ClusterRegistrationRequest, ManagedCluster } from '@rollcall/shared/resources';
import type { Logger, Metrics } from '@rollcall/shared/service';
import type { KubeView } from './kube-view.ts';
import type { MinimumInterval } from '../queue/minimum-interval.ts';
import type { UnknownAuthors } from './unknown-authors.ts';
import type { WaitingRequests } from './waiting-requests.ts';
import type { ObjectWriter } from './write-object.ts';

export type ShownCluster = StoredObject<ManagedCluster>;
export type ShownRequest = StoredObject<ClusterRegistrationRequest>;

/** What a pass over a cluster's two objects works with. */
export interface ClusterTools {
  readonly log: Pick<EventLog, 'read' | 'scan'>;
  readonly facts: Pick<FactStore, 'get'>;
  readonly view: KubeView;
  readonly writer: ObjectWriter;
  readonly factInterval: MinimumInterval;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly waiting: Pick<WaitingRequests, 'note'>;
  readonly unknownAuthors: Pick<UnknownAuthors, 'of'>;
  readonly nowMs: () => number;
  readonly debounceMs: Readonly<Record<'undecided' | 'joining', number>>;
  /** Where clusters that nobody has to see are hidden (ADR 18): how long one stays after the last that happened to it. */
  readonly exceptionsOnly: { readonly calmForMs: number } | undefined;
  /** Has another cluster looked at. */
  mark(clusterId: string): void;
}

/** The object is gone, or a newer projection was there: the watch says so soon, and until then every look would end the same way. */
export const lookAgainMs = 100;
