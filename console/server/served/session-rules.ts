/** How many sessions there are, and how long one lasts. */
export interface SessionLimits {
  /** Each keeps the fleet as its person may see it, in memory. */
  readonly inAll: number;
  /** One more ends another one of theirs, if one may end. */
  readonly ofPerson: number;
  readonly idleMs: number;
  readonly longestMs: number;
  /** How soon somebody is out whose token was taken back. */
  readonly askAgainMs: number;
}

export interface SessionLife {
  readonly person: string;
  readonly endsAtMs: number;
  readonly beganAtMs: number;
  readonly usedAtMs: number;
  /** Pages that listen: as long as one does, it is in use. */
  readonly openPages: number;
}

/**
 * Until when a session can last: a token that says when it ends lasts no longer, whoever made it.
 * What it says was not verified here, and only ever shortens the session.
 */
export function sessionEnd(
  token: string,
  nowMs: number,
  { longestMs }: Pick<SessionLimits, 'longestMs'>,
): number {
  return Math.min(nowMs + longestMs, tokenEnd(token) ?? Number.POSITIVE_INFINITY);
}

function tokenEnd(token: string): number | undefined {
  const [, payload, signature] = token.split('.');
  if (payload === undefined || signature === undefined) return undefined;
  try {
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as { exp?: unknown } | null;
    return typeof claims?.exp === 'number' ? claims.exp * 1000 : undefined;
  } catch {
    return undefined;
  }
}

/** @returns why a session is over */
export function whyOver(
  life: SessionLife,
  nowMs: number,
  { idleMs }: Pick<SessionLimits, 'idleMs'>,
): string | undefined {
  if (nowMs >= life.endsAtMs) return 'its token, or its time, has ended';
  if (life.openPages === 0 && nowMs >= life.usedAtMs + idleMs) return 'nobody used it';
  return undefined;
}

const serviceAccount = /^system:serviceaccount:([^:]+):/;

/** Who can make one ServiceAccount of a namespace can make all: together they are bounded. */
const namespaceOf = (person: string): string | undefined => serviceAccount.exec(person)?.[1];

/** Those that nobody looks at first, and of those that somebody looks at the oldest. */
const endsSooner = (one: SessionLife, other: SessionLife): number =>
  Number(one.openPages > 0) - Number(other.openPages > 0) ||
  (one.openPages > 0 ? one.beganAtMs - other.beganAtMs : one.usedAtMs - other.usedAtMs);

/**
 * Whether one more person, or browser of a person, gets in.
 * @param limits.openForMs - for how long a session with an open page is left alone
 * @returns the session that ends for it, if any; `full`: none of this person may end
 */
export function makeRoom<Life extends SessionLife>(
  sessions: readonly Life[],
  person: string,
  limits: Pick<SessionLimits, 'inAll' | 'ofPerson'> & { readonly nowMs: number; readonly openForMs: number },
): { readonly ends?: Life } | 'full' {
  const { inAll, ofPerson, nowMs, openForMs } = limits;
  const own = sessions.filter((one) => one.person === person);
  const namespace = namespaceOf(person);
  const ofNamespace = sessions.filter((one) => namespaceOf(one.person) === namespace).length;
  const isNamespaceFull = namespace !== undefined && ofNamespace >= Math.ceil(inAll / 2);
  if (own.length < ofPerson && sessions.length < inAll && !isNamespaceFull) return {};
  const [first] = own
    .filter(({ openPages, beganAtMs }) => openPages === 0 || beganAtMs + openForMs <= nowMs)
    .toSorted(endsSooner);
  return first ? { ends: first } : 'full';
}
