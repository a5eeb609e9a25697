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
