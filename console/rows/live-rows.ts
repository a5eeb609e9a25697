import type { ClusterRow } from '@rollcall/shared/fleet/cluster-row';
import type { Refusal } from './action-rows.ts';

export interface RequestRow {
  /** Of the cluster; the name of the object. */
  readonly id: string;
  readonly name: string;
  readonly result: string;
  readonly reason: string;
  readonly message: string;
  readonly policy?: string;
  readonly rule?: string;
  readonly by?: string;
  readonly token?: string;
  readonly key: string;
  /** Another key has this cluster now. */
  readonly knownKey?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly sinceMs: number;
  /** What a person decided of an earlier request of this cluster. */
  readonly decidedBefore?: { readonly verdict: string; readonly by?: string; readonly reason?: string };
}

export interface EventRow {
  /** Place in the history, and since which restore it counts; undefined of what is only heard. */
  readonly sequence?: number;
  readonly epoch?: number;
  readonly atMs: number;
  /** `cluster.approved`; of what is only heard `live.suspect`. */
  readonly type: string;
  readonly id: string;
  readonly name?: string;
  readonly person?: string;
  /** `policy/rule`. */
  readonly rule?: string;
  readonly writer: string;
  readonly reason: string;
  readonly message: string;
}

/** Events of the history from a moment on, oldest first. */
export interface EventsPart {
  readonly rows: readonly EventRow[];
  /** From which sequence it goes on; undefined: these were the last ones. */
  readonly next?: number;
}

/** Whether one side of the hub is heard, and if not, in whose words. */
export interface SideRow {
  readonly isHeard: boolean;
  readonly why?: string;
}

export interface HubRow {
  readonly server: string;
  readonly context: string;
  /** Who the person is to the API server. */
  readonly person: string;
  /** By what: `rollcall console` has a kubeconfig; in a cluster people sign in. */
  readonly signIn: 'kubeconfig' | 'form' | 'proxy';
  readonly kubernetes: SideRow;
  readonly history: SideRow;
}

/** How many clusters were in each state, in the order of `clusterStates`. */
export interface CountsRow {
  readonly atMs: number;
  readonly counts: readonly number[];
}

/** What changed, or a part of a whole snapshot: between `begin` and `whole` everything there is comes anew. */
export type LiveMessage =
  | { readonly kind: 'begin' }
  | { readonly kind: 'whole' }
  | { readonly kind: 'hub'; readonly hub: HubRow }
  | { readonly kind: 'clusters'; readonly rows: readonly ClusterRow[]; readonly gone: readonly string[] }
  | { readonly kind: 'requests'; readonly rows: readonly RequestRow[]; readonly gone: readonly string[] }
  | { readonly kind: 'events'; readonly rows: readonly EventRow[] }
  | { readonly kind: 'counts'; readonly rows: readonly CountsRow[] };

/** The fleet as it was, as it is read: `whole` comes last, or `refused`. */
export type PastMessage =
  | { readonly kind: 'reading'; readonly events: number; readonly upToMs: number }
  | { readonly kind: 'clusters'; readonly rows: readonly ClusterRow[] }
  | { readonly kind: 'whole'; readonly policies: readonly string[]; readonly notes: readonly string[] }
  | { readonly kind: 'refused'; readonly refusal: Refusal };
