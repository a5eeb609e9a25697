/**
 * Agents renew at a random point between 60 and 80 % of the life, so that a fleet never renews together. The agent takes off up
 * to 5 % by chance of its own (agent/session/renewal-time.ts), so the hub's share of the span begins that much later.
 */
const renewFrom = 0.6 / 0.95;
const renewTo = 0.8;

/**
 * How long after its reply the hub has the agent renew.
 * @param random - 0 to 1
 */
export function renewAfterMs(lifeMs: number, random: number): number {
  return Math.round(lifeMs * (renewFrom + (renewTo - renewFrom) * random));
}
