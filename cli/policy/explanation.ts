import type { Judgement, PolicyRule } from '@rollcall/approver/policy';
import type { Cause } from '@rollcall/shared/events';

/** One rule: what it read, and what it gave. */
export interface RuleResult {
  readonly policy: string;
  readonly generation: number;
  readonly rule: string;
  readonly effect: PolicyRule['effect'];
  readonly when: string;
  /** `error`: it could not be evaluated; `timeout`: all together took too long. */
  readonly answer: 'true' | 'false' | 'error' | 'timeout';
  readonly error?: string;
  /** What it reads, by `token.valid`; null: it is not there. */
  readonly inputs: Readonly<Record<string, unknown>>;
  /** The judgement names this rule. */
  readonly decides: boolean;
}

/** What policies said, or say, at a point in time. */
export interface Explained {
  readonly at: string;
  readonly rules: readonly RuleResult[];
  readonly verdict: Judgement['verdict'] | 'settled';
  readonly reason: string;
  readonly message: string;
}

/** Why a request was decided as it was, and what policies say of it now. */
export interface Explanation {
  readonly clusterId: string;
  readonly clusterName: string;
  readonly requestId: string;
  readonly requestedAt: string;
  /** What was decided; absent: nothing yet. */
  readonly decision?: {
    readonly verdict: string;
    readonly by: Cause;
    readonly reason: string;
    readonly message: string;
    readonly at: string;
  };
  /** The registrar refused it before any policy was asked. */
  readonly refusal?: { readonly code: string; readonly message: string };
  readonly atDecision?: Explained;
  readonly now: Explained;
}
