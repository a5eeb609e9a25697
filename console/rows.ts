/**
 * What the server tells the page: one schema for both. Only types and tables stand here, because the page is built from this file as
 * well. All of it is text or numbers; what others wrote (names, reasons, labels) stays text on the page.
 */
import type { ClusterRow } from '@rollcall/shared/fleet/cluster-row';

export { type ClusterRow, type ClusterState, clusterStates } from '@rollcall/shared/fleet/cluster-row';

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
  /** Place in the history; undefined of what is only heard. */
  readonly sequence?: number;
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

/** An ApprovalPolicy, as it stands in Kubernetes. */
export interface PolicyRow {
  readonly name: string;
  /** What is written on it is refused where somebody was faster. */
  readonly version: string;
  /** As YAML, without what Kubernetes adds. */
  readonly text: string;
  readonly rules: number;
  /** Of condition Ready. */
  readonly isReady: boolean;
  readonly reason: string;
  readonly message: string;
}

/** A mistake, or what most likely is not meant; line and column count from 1. */
export interface FindingRow {
  readonly line: number;
  readonly column: number;
  readonly severity: 'error' | 'warning';
  readonly message: string;
}

/** A text of policies, and from when on the requests are that it is tried on. */
export interface PolicyTrial {
  readonly text: string;
  readonly days: number;
}

/** What would have been decided differently. */
export interface TrialRow {
  readonly since: string;
  readonly judged: number;
  /** Of all; `changed` holds the first ones. */
  readonly differently: number;
  /** By `held → approved`. */
  readonly counts: Readonly<Record<string, number>>;
  readonly changed: readonly {
    readonly id: string;
    readonly name: string;
    readonly requestId: string;
    readonly atMs: number;
    readonly was: string;
    readonly wouldBe: string;
    readonly rule: string;
  }[];
}

/** One policy that is to be written. */
export interface PolicyWrite {
  readonly text: string;
  /** As it was read; undefined of one that is not there yet. */
  readonly version?: string | undefined;
}

export interface PolicyWritten {
  readonly name: string;
  readonly words: string;
}

export const actionVerbs = [
  'approve',
  'deny',
  'cordon',
  'uncordon',
  'move',
  'rotate',
  'revoke',
  'ban',
  'unban',
  'unregister',
] as const;
export type ActionVerb = (typeof actionVerbs)[number];

/** What a person wants done, in the words of the command line. */
export interface Action {
  readonly verb: ActionVerb;
  readonly target: string;
  /** The target is an id (`--id`). */
  readonly isId?: boolean | undefined;
  readonly reason?: string | undefined;
  readonly replaceKey?: string | undefined;
  /** The key that asked when the person looked: another one is not decided about. */
  readonly key?: string | undefined;
  /** To which it is moved. */
  readonly set?: string | undefined;
  /** Only asks whether the person may. */
  readonly dryRun?: boolean | undefined;
}

export interface ActionAnswer {
  readonly words: string;
}

/** A refusal, in the words of who refused. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

/** Everything about one cluster: what `rollcall describe cluster NAME -o json` prints, and what to do next. */
export interface ClusterPage {
  readonly description: ClusterDescriptionRow;
  readonly next: readonly string[];
}

export interface CauseRow {
  readonly person?: string | undefined;
  readonly policy?: string | undefined;
  readonly rule?: string | undefined;
  readonly service?: string | undefined;
}

export interface StoryRow {
  readonly sequence: number;
  readonly at: string;
  readonly type: string;
  readonly by?: CauseRow | undefined;
  readonly reason: string;
  readonly message: string;
}

export interface ClusterDescriptionRow {
  readonly clusterId: string;
  readonly clusterName: string;
  readonly phase: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly clusterSet?: string | undefined;
  readonly schedulable: boolean;
  readonly request?:
    | { readonly at: string; readonly token: string; readonly keyFingerprint: string }
    | undefined;
  readonly decision?:
    | {
        readonly verdict: string;
        readonly by: CauseRow;
        readonly reason: string;
        readonly message: string;
        readonly at: string;
      }
    | undefined;
  readonly credentials: {
    readonly keyFingerprint?: string | undefined;
    readonly admittedAt?: string | undefined;
    readonly revoked: readonly { readonly keyFingerprint: string; readonly at: string }[];
  };
  readonly namespace?:
    | { readonly name: string; readonly state: string; readonly access: string; readonly problem?: string }
    | undefined;
  readonly liveness?:
    | {
        readonly state: string;
        readonly cause: string;
        readonly joinedAt: string;
        readonly since: string;
        readonly lastHeartbeat: string;
      }
    | undefined;
  readonly facts?: FactsRow | undefined;
  readonly conditions: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason: string;
    readonly message: string;
    readonly lastTransitionTime: string;
  }[];
  readonly timeline: readonly StoryRow[];
  readonly missing: readonly { readonly source: string; readonly why: string }[];
}

/** What the agent says of its member; nobody verified it. */
export interface FactsRow {
  readonly kubernetesVersion?: string | undefined;
  readonly platform?: string | undefined;
  readonly provider?: string | undefined;
  readonly region?: string | undefined;
  readonly apiServerURL?: string | undefined;
  readonly agentVersion?: string | undefined;
  readonly nodes?:
    | { readonly total: number; readonly ready: number; readonly schedulable: number }
    | undefined;
}
