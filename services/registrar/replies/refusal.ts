import type { ErrorCode } from '@rollcall/shared/errors';

/** Why a request is not taken, in words for the person who runs the agent. */
export interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
}
