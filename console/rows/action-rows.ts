import type { ClusterDescription } from '@rollcall/shared/fleet/cluster-description';

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
