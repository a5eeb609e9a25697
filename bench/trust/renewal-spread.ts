import { renewalAtMs } from '../../agent/session/renewal-time.ts';
import { renewAfterMs } from '../../services/registrar/replies/renew-after.ts';
import { createRandom } from '../../cli/simulate/random.ts';

/** How evenly a fleet renews, on a simulated clock with the hub's and the agent's own rules. */
export interface RenewalSpread {
  readonly joined: 'all at once' | 'over ten days';
  readonly agents: number;
  readonly busiestMinute: number;
  /** Over the minutes from the first renewal that counts to the last. */
  readonly meanMinute: number;
  readonly ratio: number;
}

const minuteMs = 60_000;
const dayMs = 86_400_000;
const joinedWithinMs = 10 * dayMs;
/** Until the last that joined has renewed, the fleet still grows. */
const steadyFromMs = joinedWithinMs + dayMs;

/**
 * @param options.joined - `all at once` is the worst there is (a hub that was wiped, say): its first wave of renewals is looked
 *   at. `over ten days`: the twelfth day is.
 */
export function renewalSpread(options: {
  agents: number;
  joined: RenewalSpread['joined'];
  seed: number;
}): RenewalSpread {
  const { agents, joined } = options;
  const random = createRandom(options.seed);
  const untilMs = joined === 'all at once' ? dayMs : steadyFromMs + dayMs;
  const minutes = new Uint32Array(untilMs / minuteMs + 1);
  for (let agent = 0; agent < agents; agent++) {
    let nowMs = joined === 'all at once' ? 0 : Math.floor(random.next() * joinedWithinMs);
    for (;;) {
      nowMs = renewalAtMs({
        nowMs,
        repliedAtMs: nowMs,
        renewAfterMs: renewAfterMs(dayMs, random.next()),
        expiresAtMs: nowMs + dayMs,
        random: random.next(),
      });
      if (nowMs >= untilMs) break;
      const minute = Math.floor(nowMs / minuteMs);
      minutes[minute] = (minutes[minute] ?? 0) + 1;
      if (joined === 'all at once') break;
    }
  }
  const all = [...minutes.subarray(0, untilMs / minuteMs)];
  const counted =
    joined === 'over ten days'
      ? all.slice(steadyFromMs / minuteMs)
      : all.slice(
          all.findIndex((count) => count > 0),
          all.findLastIndex((count) => count > 0) + 1,
        );
  const busiestMinute = counted.reduce((most, count) => Math.max(most, count), 0);
  const meanMinute = counted.reduce((sum, count) => sum + count, 0) / counted.length;
  return { joined, agents, busiestMinute, meanMinute, ratio: busiestMinute / meanMinute };
}

const fleet = 100_000;

/** @returns the fleet that grew over days, and the one that came at once */
export function measureRenewal(): RenewalSpread[] {
  const seed = Date.now() % 1_000_000;
  return (['over ten days', 'all at once'] as const).map((joined) =>
    renewalSpread({ agents: fleet, joined, seed }),
  );
}
