import fc from 'fast-check';
import { expect, test } from 'vitest';
import { renewalAtMs } from '../../agent/session/renewal-time.ts';
import { renewAfterMs } from '../../services/registrar/replies/renew-after.ts';
import { renewalSpread } from './renewal-spread.ts';

const share = fc.double({ min: 0, max: 1, noNaN: true });
const lifeMs = 86_400_000;

test('hub and agent together renew between 60 and 80 % of the life', () => {
  fc.assert(
    fc.property(share, share, (ofHub, ofAgent) => {
      const at = renewalAtMs({
        nowMs: 0,
        repliedAtMs: 0,
        renewAfterMs: renewAfterMs(lifeMs, ofHub),
        expiresAtMs: lifeMs,
        random: ofAgent,
      });
      expect(at / lifeMs).toBeGreaterThanOrEqual(0.599_999);
      expect(at / lifeMs).toBeLessThanOrEqual(0.8);
    }),
  );
});

test.each(['over ten days', 'all at once'] as const)(
  '100,000 agents that came %s renew without a peak',
  (joined) => {
    expect(renewalSpread({ agents: 100_000, joined, seed: 7 }).ratio).toBeLessThanOrEqual(1.5);
  },
);
