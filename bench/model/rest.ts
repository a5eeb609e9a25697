import { renewalAtMs } from '../../agent/session/renewal-time.ts';
import { renewAfterMs } from '../../services/registrar/replies/renew-after.ts';
import { connectMember } from './connect.ts';
import { write } from './joins.ts';
import { createKeyCutter } from './key-cuts.ts';
import { anyOf, work, type World } from './world.ts';

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const yearMs = 365 * dayMs;

/** Calls at random moments, on average once in that time, until the end. */
function poisson(
  { timeline, random }: World,
  every: { ms: number; untilMs: number },
  what: () => void,
): void {
  if (!Number.isFinite(every.ms)) return;
  const next = () => {
    timeline.after(-Math.log(1 - random.next()) * every.ms, () => {
      if (timeline.nowMs() >= every.untilMs) return;
      what();
      next();
    });
  };
  next();
}

/** On average, by the hub's and the agent's own rules: how long credentials are used. */
export function meanRenewalMs(lifeMs = dayMs): number {
  const renewal = (random: number) =>
    renewalAtMs({
      nowMs: 0,
      repliedAtMs: 0,
      renewAfterMs: renewAfterMs(lifeMs, random),
      expiresAtMs: lifeMs,
      random: 0.5,
    });
  return (renewal(0) + renewal(1)) / 2;
}

/** What a healthy fleet asks of its hub: renewals, facts once an hour, access for some, agents that are replaced or lost now and then. */
export function liveOn(world: World, untilMs: number): void {
  const { clusters, numbers, nats, of, grain } = world;
  const each = (ms: number) => ({ ms: (ms / clusters) * grain, untilMs });
  const request = (then: () => void) =>
    work(world, { on: anyOf(world, nats), costMs: numbers.natsRequestMs }, () =>
      work(world, { on: anyOf(world, of.registrar), costMs: numbers.registrarRenewalMs }, then),
    );
  const [leader] = nats;
  const store = () => leader && work(world, { on: leader, costMs: numbers.natsRequestMs });

  poisson(world, each(meanRenewalMs()), () =>
    request(() => connectMember(world, anyOf(world, nats), () => undefined)),
  );
  poisson(world, each(hourMs), () => request(() => store()));
  poisson(world, each(hourMs / numbers.accessShare), () =>
    request(() =>
      work(world, { on: anyOf(world, of.provisioner), costMs: numbers.registrarRenewalMs }, () =>
        write(world, () => undefined),
      ),
    ),
  );
  // Suspect, unreachable, ready: each shown while it lasts, where exceptions are shown too.
  poisson(world, each(yearMs / numbers.lostAYear), () =>
    connectMember(world, anyOf(world, nats), () => {
      for (let event = 0; event < 3; event++) {
        store();
        write(world, () => undefined);
      }
    }),
  );
  const cut = createKeyCutter(world);
  poisson(world, each(yearMs / numbers.replacedAYear), () => {
    for (let event = 0; event < 8; event++) store();
    cut(() => undefined);
  });
}
