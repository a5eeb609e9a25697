/** Never sooner: credentials that end at once would otherwise be renewed without a pause. */
const soonestMs = 1000;

/**
 * When to ask for the next credentials, on the agent's clock. The hub says how long after its reply
 * (services/registrar/replies/renew-after.ts); the end of the credentials is hub time, so it is only used through the time that the
 * reply itself carries.
 * @param random - 0 to 1: up to 5 % earlier, never later
 */
export function renewalAtMs(options: {
  nowMs: number;
  repliedAtMs: number;
  renewAfterMs: number;
  expiresAtMs: number;
  random: number;
}): number {
  const { nowMs, repliedAtMs, renewAfterMs, expiresAtMs, random } = options;
  // A hub that says nonsense must not make the agent sleep past the end, or for ever.
  const saidMs = expiresAtMs - repliedAtMs;
  const lifeMs = Number.isFinite(saidMs) ? Math.max(0, saidMs) : 0;
  const afterMs = renewAfterMs > 0 && renewAfterMs < lifeMs ? renewAfterMs : (lifeMs * 2) / 3;
  return nowMs + Math.max(soonestMs, Math.round(afterMs * (1 - 0.05 * random)));
}
