import { type BackOff, refusedDelayMs } from '../../agent/hub/back-off.ts';
import { boundedReturn, lapsedDelayMs, reconnectWaitMs } from '../../agent/session/reconnect-delay.ts';
import { connectByCallout, connectMember, usualPatience } from './connect.ts';
import { createTimes, type Times } from './queues/times.ts';
import { anyOf, work, type World } from './world.ts';

/** How agents came back. */
export interface Returns {
  readonly backMs: Times;
  /** In the busiest second. */
  mostInOneSecond(): number;
  /** Handshakes that came too late, of all. */
  late(): number;
  /** Knocked, and were refused. */
  refused(): number;
  /** Agents that are not back. */
  missing(): number;
  /** Infinite where fewer than that share are back. */
  quantileMs(share: number): number;
}

/** As the agent is configured (agent/config.ts). */
const refusedRetryMs = 300_000;

/** Counts from a moment on; agents count as many times as they stand for. */
function countReturns({ timeline, grain }: World, expected: number, fromMs: number) {
  const backMs = createTimes();
  const bySecond = new Map<number, number>();
  let [late, refused] = [0, 0];
  return {
    isLate: () => void (late += grain),
    isRefused: () => void (refused += grain),
    isBack(): void {
      const afterMs = Math.max(0, timeline.nowMs() - fromMs);
      backMs.add(afterMs);
      const second = Math.floor(afterMs / 1000);
      bySecond.set(second, (bySecond.get(second) ?? 0) + grain);
    },
    found: {
      backMs,
      mostInOneSecond: () => Math.max(0, ...bySecond.values()),
      late: () => late,
      refused: () => refused,
      missing: () => (expected - backMs.count()) * grain,
      quantileMs: (share) =>
        backMs.count() < share * expected
          ? Number.POSITIVE_INFINITY
          : backMs.quantileMs((share * expected) / backMs.count()),
    } satisfies Returns,
  };
}

/**
 * Agents whose connections end at moment 0 without a word, because their servers are gone.
 * @param outage.agents - how many of them
 * @param outage.downServers - the first so many; an agent takes any other that there is
 * @param outage.backAtMs - when these listen again
 */
export function loseConnections(
  world: World,
  outage: { agents: number; downServers: number; backAtMs: number; patience?: BackOff },
): Returns {
  const { timeline, random, nats, grain, heartbeatIntervalMs } = world;
  const { patience = usualPatience } = outage;
  const count = Math.max(1, Math.round(outage.agents / grain));
  const others = nats.slice(outage.downServers);
  const from = others.length > 0 ? 0 : outage.backAtMs;
  const { isBack, isLate, found } = countReturns(world, count, from);
  const returnWithinMs = boundedReturn(world.returnWithinMs);

  function tryAgain(failures: number, unanswered: number): void {
    const cut = { failures, unanswered, random: random.next(), isAlone: false, isLapsed: false };
    const waitMs = reconnectWaitMs(patience, { ...cut, heartbeatIntervalMs, returnWithinMs });
    timeline.after(waitMs, () => {
      const servers = timeline.nowMs() >= outage.backAtMs ? nats : others;
      // Nobody listens: that costs the hub nothing.
      if (servers.length === 0) return tryAgain(failures + 1, unanswered + 1);
      connectMember(world, anyOf(world, servers), (isIn) => {
        if (isIn) return isBack();
        isLate();
        tryAgain(failures + 1, unanswered);
      });
    });
  }

  for (let agent = 0; agent < count; agent++) tryAgain(1, 0);
  return found;
}

/**
 * Agents whose credentials have ended while no registrar was there: each connects by its key, is given new credentials, and connects
 * with these.
 * @param outage.startsAtMs - when an agent begins to knock
 */
export function returnLapsed(
  world: World,
  outage: { agents: number; registrarBackAtMs: number; startsAtMs(agent: number): number },
): Returns {
  const { timeline, random, nats, of, numbers, grain } = world;
  const count = Math.max(1, Math.round(outage.agents / grain));
  const { isBack, isLate, isRefused, found } = countReturns(world, count, outage.registrarBackAtMs);
  const longestMs = lapsedDelayMs(refusedRetryMs, boundedReturn(world.returnWithinMs));

  const requestNatsMs = numbers.natsLapsedMs - numbers.natsCalloutMs - numbers.natsReturnMs;
  const requestRegistrarMs = numbers.registrarLapsedMs - numbers.registrarCalloutMs;

  function again(refusals: number): void {
    timeline.after(refusedDelayMs(longestMs, refusals, random.next()), () => knock(refusals));
  }

  function knock(refusals: number): void {
    const server = anyOf(world, nats);
    if (timeline.nowMs() < outage.registrarBackAtMs) {
      // The server refuses at once, after the handshake.
      return work(world, { on: server, costMs: numbers.natsTlsMs }, () => {
        isRefused();
        again(refusals + 1);
      });
    }
    connectByCallout(world, server, (isIn) => {
      if (!isIn) {
        isLate();
        return again(refusals + 1);
      }
      work(world, { on: server, costMs: requestNatsMs }, () =>
        work(world, { on: anyOf(world, of.registrar), costMs: requestRegistrarMs }, () =>
          connectMember(world, anyOf(world, nats), (isMember) => {
            if (isMember) return isBack();
            isLate();
            again(refusals + 1);
          }),
        ),
      );
    });
  }

  for (let agent = 0; agent < count; agent++) timeline.at(outage.startsAtMs(agent), () => knock(0));
  return found;
}

/** The longest pause of an agent whose credentials have ended. */
export function lapsedPauseMs(world: Pick<World, 'returnWithinMs'>): number {
  return lapsedDelayMs(refusedRetryMs, boundedReturn(world.returnWithinMs));
}
