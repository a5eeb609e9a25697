/**
 * What the server tells the page: one schema for both. Only types and tables stand here, because the page is built from this file as
 * well. All of it is text or numbers; what others wrote (names, reasons, labels) stays text on the page.
 */
import type { ClusterDescription } from '@rollcall/shared/fleet/cluster-description';
import type { ClusterRow } from '@rollcall/shared/fleet/cluster-row';

export type { ClusterDescription, TimelineEntry } from '@rollcall/shared/fleet/cluster-description';
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

/** A registration token as the hub has it; its secret nobody here knows. */
export interface TokenRow {
  readonly namespace: string;
  readonly name: string;
  /** Of the object: another one may get its name. */
  readonly uid: string;
  readonly uses: number | 'unlimited';
  readonly used: number;
  /** RFC 3339, or `never`; undefined: the hub has not said yet. */
  readonly expires?: string;
  readonly madeAtMs: number;
  /** Who made it, or changed it last. */
  readonly by?: string;
  readonly isReady: boolean;
  /** Of condition Ready. */
  readonly reason: string;
  readonly message: string;
  readonly clusterName?: string;
  readonly clientId?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly allowLabels?: readonly string[];
  readonly clusterSet?: string;
  readonly description?: string;
  /** The hub made it, into a Secret of its name. */
  readonly isPublished: boolean;
}

/** What a person says about a token that is to be made, as the flags of `rollcall token create` take it. */
export interface TokenFlags {
  readonly uses: string;
  readonly ttl: string;
  readonly name?: string | undefined;
  readonly clusterName?: string | undefined;
  readonly clientId?: string | undefined;
  readonly labels?: string | undefined;
  readonly allowLabels?: string | undefined;
  readonly clusterSet?: string | undefined;
  readonly description?: string | undefined;
}

/** The token was made in the browser: its public half is all that is told. */
export interface TokenMaking extends TokenFlags {
  readonly publicKey: string;
}

/** Where the token goes in what the server words: the browser puts it in. Nothing that a person may fill in has such letters. */
export const tokenPlace = 'TOKEN.OF.THIS.BROWSER';

/** What to do with a token that was made, with `tokenPlace` in its place. */
export interface TokenMade {
  readonly namespace: string;
  readonly name: string;
  /** For how many, and until when. */
  readonly terms: string;
  /** Whether the hub has said that it takes it. */
  readonly isTaken: boolean;
  readonly command: string;
  readonly values: string;
}

/** One token, as it was seen. */
export interface TokenRevoking {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** A bulk change that waits for a person, and what of a confirmed one is not done yet. */
export interface OperationsRow {
  readonly held?: {
    readonly id: string;
    readonly limit: number;
    readonly operations: readonly OperationRow[];
  };
  readonly confirmed: readonly OperationRow[];
}

export interface OperationRow {
  readonly cluster: string;
  readonly clusterId: string;
  /** The event that would follow. */
  readonly operation: string;
  readonly by: string;
}

/** An event that a service could not handle. */
export interface DeadRow {
  readonly id: number;
  readonly atMs: number;
  readonly service: string;
  /** Subject of the event, without its head. */
  readonly event: string;
  readonly code: string;
  readonly message: string;
  readonly deliveries: number;
  /** Put aside for a newer version, which handles it by itself. */
  readonly isHeld: boolean;
}

export interface DeadMending {
  readonly verb: 'retry' | 'drop';
  readonly ids: readonly string[];
}

/** What `rollcall status` prints, without what it says of operations: they have a list of their own. */
export interface StatusRow {
  readonly lines: readonly { readonly name: string; readonly value: string }[];
  readonly services: readonly {
    readonly name: string;
    readonly replicas: number;
    readonly ready: number;
    readonly versions: readonly string[];
  }[];
  readonly problems: readonly {
    readonly text: string;
    readonly next: string;
    readonly severity: 'wrong' | 'unknown';
  }[];
}

/** What one check of `rollcall doctor` found. */
export interface CheckRow {
  readonly check: string;
  readonly outcome: 'ok' | 'skipped' | 'finding';
  readonly message: string;
  readonly next?: string;
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
  readonly description: ClusterDescription;
  readonly next: readonly string[];
}
