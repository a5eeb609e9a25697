import { errorCatalogue, isErrorCode, type RollcallError } from '@rollcall/shared/errors';
import type { ReplyResult } from '@rollcall/shared/protocol/reply';
import type { Credential } from './credential-choice.ts';
import type { PhaseDetail } from './phase.ts';

/** A no, in the words that people are shown. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

/** What the hub answered; a newer hub may use codes that are not in our catalogue, so it sends the hint along. */
export function answeredRefusal({ code, message, hint }: ReplyResult & { kind: 'refused' }): Refusal {
  return { code, message, hint: hint || (isErrorCode(code) ? errorCatalogue[code].hint : '') };
}

/**
 * The server let none of the agent's credentials in. It says nothing but "Authorization Violation", on purpose, so what is wrong
 * follows from what was shown.
 */
export function refusedConnection(shown: readonly Credential['role'][]): Refusal {
  const code = shown.includes('returning') ? 'KEY_REFUSED' : 'TOKEN_UNKNOWN';
  const message =
    code === 'TOKEN_UNKNOWN'
      ? 'the hub does not let this token in'
      : `the hub does not let this agent in any more (shown: ${shown.map((role) => names[role]).join(', ')})`;
  return { code, message, hint: errorCatalogue[code].hint };
}

const names = {
  member: 'member credentials',
  waiting: 'waiting credentials',
  token: 'token',
  returning: 'own key',
} as const;

export function errorAsRefusal(error: RollcallError): Refusal {
  return { code: error.code, message: error.message, hint: error.hint };
}

export function refusalDetail({ code, hint }: Refusal, retryInMs: number): PhaseDetail {
  return { code, hint, retryInMs };
}
