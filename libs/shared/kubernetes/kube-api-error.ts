import { RollcallError } from '../errors/index.ts';

/** What the API server says about a refusal: which object, and for invalid ones which fields. */
export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  retryAfterSeconds?: number;
  causes?: { reason?: string; message?: string; field?: string }[];
}

/** What to do, by what the API server means with the code; of others the catalogue speaks. */
const hints: Readonly<Record<number, string>> = {
  400: 'Correct what the API server names, and run the command again; nothing was changed.',
  401: 'Your credentials were refused, or have ended: renew those of this kubeconfig.',
  403: 'A right is missing, or an admission policy refuses it, as the message says: `rollcall doctor` says which rights you have, and ClusterRole rollcall-viewer, rollcall-approver or rollcall-admin gives more.',
  404: 'Check with `rollcall doctor` whether the kubeconfig is that of a hub, and its kinds are there.',
  409: 'It is there already, or somebody else changed it meanwhile: look at it, and run the command again.',
  422: 'Correct what the API server names, and run the command again; nothing was changed.',
};
const inTrouble = 'The API server is busy or in trouble: try again; `rollcall doctor` says more.';

/** The API server answered, and said no. A connection that failed is `KUBE_UNREACHABLE` instead. */
export class KubeApiError extends RollcallError {
  /** The HTTP code; 410 may also come out of a watch that began with 200. */
  readonly status: number;
  /** Kubernetes' CamelCase reason, such as `AlreadyExists`; empty if the answer was none of Kubernetes'. */
  readonly reason: string;
  readonly details: StatusDetails;
  readonly #retryAfterMs: number | undefined;

  constructor(
    message: string,
    answer: { status: number; reason: string; details: StatusDetails; retryAfterMs?: number | undefined },
  ) {
    super('KUBE_API', message);
    this.name = 'KubeApiError';
    this.status = answer.status;
    this.reason = answer.reason;
    this.details = answer.details;
    this.#retryAfterMs = answer.retryAfterMs;
  }

  override get hint(): string {
    return hints[this.status] ?? (this.status === 429 || this.status >= 500 ? inTrouble : super.hint);
  }

  override get retryAfterMs(): number | undefined {
    return this.#retryAfterMs;
  }

  /**
   * The server's own trouble passes, and so does a lost race after a new look; a refusal stays until somebody changes something.
   * Not being known (401) passes too: a token of ours has just run out, or the server cannot ask who we are.
   */
  override get retry(): boolean {
    return this.status === 401 || this.status === 429 || this.status >= 500 || isConflict(this);
  }
}

/**
 * Makes the error from the body of an answer, which is a Status object unless something else answered.
 * @param retryAfterMs - as the answer's header says it
 */
export function kubeApiError(
  status: number,
  body: string,
  request: string,
  retryAfterMs?: number,
): KubeApiError {
  const answer = statusObject(body);
  const message = answer?.message ?? (body.slice(0, 200).trim() || `HTTP ${status}`);
  // What is wrong with an object, the server says in whole sentences; by which path it was sent helps nobody.
  const isAboutObject = answer?.message !== undefined && (status === 422 || status === 400);
  return new KubeApiError(isAboutObject ? message : `${request}: ${message}`, {
    status: answer?.code ?? status,
    reason: answer?.reason ?? '',
    details: answer?.details ?? {},
    retryAfterMs,
  });
}

/** The refusal of a server that may be hostile: what it wrote is never shown. */
export function withoutItsWords(error: KubeApiError, request: string): KubeApiError {
  const { status, reason, retryAfterMs } = error;
  return new KubeApiError(`${request}: HTTP ${status}`, { status, reason, details: {}, retryAfterMs });
}

interface StatusObject {
  readonly message: string | undefined;
  readonly reason: string | undefined;
  readonly code: number | undefined;
  readonly details: StatusDetails | undefined;
}

/** Fields of another type than Kubernetes gives them are left out: what answers need not be an API server. */
function statusObject(body: string): StatusObject | undefined {
  let parsed: Partial<Record<string, unknown>>;
  try {
    parsed = (JSON.parse(body) ?? {}) as typeof parsed;
  } catch {
    return undefined;
  }
  const { kind, message, reason, code, details } = parsed;
  if (kind !== 'Status') return undefined;
  return {
    message: typeof message === 'string' ? message : undefined,
    reason: typeof reason === 'string' ? reason : undefined,
    code: typeof code === 'number' ? code : undefined,
    details: typeof details === 'object' && details !== null ? detailsOf(details) : undefined,
  };
}

function detailsOf(details: StatusDetails): StatusDetails {
  const causes: unknown = details.causes;
  if (!Array.isArray(causes)) return { ...details, causes: [] };
  return { ...details, causes: causes.filter((cause) => typeof cause === 'object' && cause !== null) };
}

const hasStatus = (error: unknown, status: number): error is KubeApiError =>
  error instanceof KubeApiError && error.status === status;

export const isNotFound = (error: unknown): error is KubeApiError => hasStatus(error, 404);
export const isForbidden = (error: unknown): error is KubeApiError => hasStatus(error, 403);
/** The object does not fit its schema, or an admission policy calls it invalid. */
export const isInvalid = (error: unknown): error is KubeApiError => hasStatus(error, 422);
/** The name is taken. Told apart from a conflict of versions, which has the same HTTP code. */
export const isAlreadyExists = (error: unknown): error is KubeApiError =>
  hasStatus(error, 409) && error.reason === 'AlreadyExists';
/** Somebody else changed the object, owns the field, or the precondition does not hold. */
export const isConflict = (error: unknown): error is KubeApiError =>
  hasStatus(error, 409) && error.reason !== 'AlreadyExists';
/** The resource version or the page token is too old: list again. */
export const isExpired = (error: unknown): error is KubeApiError => hasStatus(error, 410);
