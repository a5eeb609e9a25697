import type { ErrorCode, RollcallError } from '@rollcall/shared/errors';
import { KubeApiError } from '@rollcall/shared/kubernetes/kube-api-error';

/** Exit codes (surfaces: "CLI"): scripts tell failures apart by them. */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  refused: 3,
  held: 4,
  unreachable: 5,
  timedOut: 6,
} as const;
type Outcome = keyof typeof exitCodes;

const outcomes: Partial<Record<ErrorCode, Outcome>> = {
  USAGE: 'usage',
  SCENARIO_INVALID: 'usage',
  REQUEST_HELD: 'held',
  KUBE_UNREACHABLE: 'unreachable',
  BUS_UNREACHABLE: 'unreachable',
  BUS_REFUSED: 'refused',
  HUB_UNREACHABLE: 'unreachable',
  MEMBER_UNREACHABLE: 'unreachable',
  PROXY_UNREACHABLE: 'unreachable',
  PROXY_NOT_HTTP: 'unreachable',
  PROXY_AUTH: 'refused',
  PROXY_REFUSED: 'refused',
  PROXY_UNTRUSTED: 'refused',
  DEADLINE_EXCEEDED: 'timedOut',
  ACCEPT_FORBIDDEN: 'refused',
  DECISION_CHANGED: 'refused',
  OPERATION_FORBIDDEN: 'refused',
  BULK_HELD: 'held',
  REQUEST_INVALID: 'refused',
  PROOF_INVALID: 'refused',
  HUB_WRONG: 'refused',
  HUB_CA_WRONG: 'refused',
  HUB_CERT_EXPIRED: 'refused',
  HUB_CERT_NAME: 'refused',
  HUB_NOT_TLS: 'refused',
  HUB_NOT_WEBSOCKET: 'refused',
  HUB_TLS_OLD: 'refused',
  CLOCK_SKEW: 'refused',
  REPLAYED: 'refused',
  HUB_BUSY: 'refused',
  TOKEN_INVALID: 'refused',
  TOKEN_REFUSED: 'refused',
  TOKEN_UNKNOWN: 'refused',
  TOKEN_EXPIRED: 'refused',
  TOKEN_OLD_EPOCH: 'refused',
  TOKEN_USED_UP: 'refused',
  TOKEN_NAME_MISMATCH: 'refused',
  CLUSTER_ID_INVALID: 'refused',
  CLUSTER_NAME_INVALID: 'refused',
  CLUSTER_NAME_RESERVED: 'refused',
  KEY_TAKEN: 'refused',
  ID_TAKEN: 'refused',
  NAME_TAKEN: 'refused',
  PREDEFINED_BINDING: 'refused',
  NAMESPACE_TAKEN: 'refused',
  INSTALLED_BY_HELM: 'refused',
  HUB_KEYS_OTHER: 'refused',
  REQUEST_OPEN: 'refused',
  MEMBER_TOO_OLD: 'refused',
  MEMBER_VERSION_UNREADABLE: 'refused',
  MEMBER_FORBIDDEN: 'refused',
  CLUSTER_DENIED: 'refused',
  CLUSTER_BANNED: 'refused',
  CLUSTER_REVOKED: 'refused',
  CLUSTER_LEAVING: 'refused',
  CLUSTER_LEFT: 'refused',
  MEMBER_OTHER: 'refused',
  KEY_REFUSED: 'refused',
};

/** What an API server says no to: rights, admission and schema; its own trouble is none of these. */
const refusingStatus = new Set([401, 403, 422]);

/** The exit code of a command that ended with this error. */
export function exitCodeOf(error: RollcallError): number {
  if (error instanceof KubeApiError && refusingStatus.has(error.status)) return exitCodes.refused;
  return exitCodes[outcomes[error.code] ?? 'failed'];
}
