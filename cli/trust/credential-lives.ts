import type { HubFiles } from './hub-files.ts';

/** How long credentials of members were issued for, as far as is known here. */
export interface CredentialLife {
  readonly lifeMs: number;
  /** Since another value is in force: when the last of them ends. Absent: this one is in force. */
  readonly endsAtMs?: number;
}

/** What was found out now. */
export interface LivesSeen {
  /** What registrars issue. */
  readonly inForceMs: number;
  /** Of the credentials that agents are connected with, the one that ends last. */
  readonly outLongest?: { readonly lifeMs: number; readonly endsAtMs: number } | undefined;
  readonly nowMs: number;
}

/**
 * What may still be out there: the value in force, and longer ones that were in force before until the last of theirs has ended. Until
 * it was first seen that a value is no more, it may have been issued.
 */
export function livesAfter(
  before: readonly CredentialLife[],
  { inForceMs, outLongest, nowMs }: LivesSeen,
): CredentialLife[] {
  const ended = before.map(({ lifeMs, endsAtMs = nowMs + lifeMs }) => ({ lifeMs, endsAtMs }));
  const longer = [...ended, ...(outLongest ? [outLongest] : [])].filter(
    // Whatever else is out ends before what is issued now.
    ({ lifeMs, endsAtMs }) => lifeMs > inForceMs && endsAtMs > nowMs,
  );
  const byLife = Map.groupBy(longer, ({ lifeMs }) => lifeMs);
  const kept = [...byLife].map(([lifeMs, same]) => ({
    lifeMs,
    endsAtMs: Math.max(...same.map(({ endsAtMs }) => endsAtMs)),
  }));
  return [...kept, { lifeMs: inForceMs }];
}

/** When the last credential that was issued until a moment has ended. */
export function lastEndsAtMs(lives: readonly CredentialLife[], issuedUntilMs: number): number {
  const ends = lives.map(({ lifeMs, endsAtMs = Number.POSITIVE_INFINITY }) =>
    Math.min(issuedUntilMs + lifeMs, endsAtMs),
  );
  return Math.max(0, ...ends);
}

export function noteLives(files: Pick<HubFiles, 'change'>, seen: LivesSeen): void {
  files.change('hub', (hub) => ({ ...hub, credentialLives: livesAfter(hub.credentialLives ?? [], seen) }));
}
