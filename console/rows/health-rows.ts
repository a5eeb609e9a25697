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
