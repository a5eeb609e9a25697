import { setTimeout as delay } from 'node:timers/promises';
import { openEventLog, readDeadLetters, streamSize } from '@rollcall/shared/bus';
import { openFleet, type Fleet } from '../../cli/simulate/clusters/fleet.ts';
import { followPlan } from '../../cli/simulate/follow-plan.ts';
import { createRandom, type Random } from '../../cli/simulate/random.ts';
import { watchRun } from '../../cli/simulate/report/run-watch.ts';
import type { SimulationSettings } from '../../cli/simulate/simulation-settings.ts';
import { askServices, figureOf } from '../../cli/status/ask-services.ts';
import { openHubToRead } from '../../cli/verify/hub-to-read.ts';
import { verifyHub } from '../../cli/verify/verify.ts';
import { until } from '../../tests/harness/embedded.ts';
import { hearLosses } from './hear-losses.ts';
import { type Judgement, judgeSoak, longRunMs } from './judge-soak.ts';
import { type LifePlan, planLives } from './life-plan.ts';
import { watchOwnStalls } from './own-stalls.ts';
import { preparePeople, runPeople } from './people.ts';
import { runStrikes } from './run-strikes.ts';
import { openSoakStage, type SoakStage } from './soak-stage.ts';
import { departuresOf, readSoakHistory, silenceRecord, type SoakRecord } from './soak-record.ts';
import { planStrikes } from './strike-plan.ts';
import { type Sample, takeSample } from './take-sample.ts';

export interface SoakOptions {
  readonly clusters: number;
  /** How many of them have agents, keys and connections of their own. */
  readonly real: number;
  readonly lastsMs: number;
  readonly servers: 1 | 3;
  /** Default: as in the image, compiled. */
  readonly isFromSource?: boolean;
}

export interface SoakResult {
  readonly options: SoakOptions;
  readonly record: SoakRecord;
  readonly judgements: readonly Judgement[];
}

const seed = 1;
const minuteMs = 60_000;
const roundMs = 10 * minuteMs;
const samples = { everyMs: minuteMs, least: 9 };
const joinsPerSecond = 20;
const joinedWithinMs = 30 * minuteMs;
const shownWithinMs = 30 * minuteMs;
/** A hub in use always has something that is about to be shown. */
const mostQueuedAtRest = 3;
const shownLagSeconds = 1;
const lookEveryMs = 1000;
/** Renewed several times an hour. */
const memberLife = '10m';

const pace = {
  long: {
    heartbeat: { interval: 15_000, grace: 45_000 },
    deaths: 0.01,
    changes: 0.002,
    peopleMs: 30_000,
    restWithinMs: 10 * minuteMs,
  },
  short: {
    heartbeat: { interval: 2000, grace: 6000 },
    deaths: 0.1,
    changes: 0.05,
    peopleMs: 5000,
    restWithinMs: 2 * minuteMs,
  },
};
const factsEveryMs = 500;

function fleetSettings(
  { clusters, real }: SoakOptions,
  heartbeat: SimulationSettings['scenario']['heartbeat'],
) {
  const scenario = { description: '', heartbeat, groups: { all: 1 }, steps: [], end: longRunMs };
  // Kubernetes shows them all, whoever comes later too.
  return { clusters, real, joinsPerSecond, shown: Infinity, seed, scenario, name: 'soak' };
}

async function changeFacts(
  fleet: Fleet,
  of: readonly string[],
  { random, signal }: { random: Random; signal: AbortSignal },
) {
  let changed = 0;
  for (; !signal.aborted; await delay(factsEveryMs)) {
    fleet.agents?.changeFacts(random.pick(of));
    changed++;
  }
  return changed;
}

async function sampleAgainAndAgain(
  stage: SoakStage,
  {
    beganMs,
    everyMs,
    endMs,
    say,
  }: { beganMs: number; everyMs: number; endMs: number; say: (message: string) => void },
): Promise<Sample[]> {
  const taken: Sample[] = [];
  for (let atMs = everyMs / 2; atMs < endMs; atMs += everyMs) {
    const inMs = beganMs + atMs - performance.now();
    // The one before took too long.
    if (inMs < 0) continue;
    await delay(inMs);
    const sample = await takeSample(stage, beganMs);
    taken.push(sample);
    const mebibytes = Object.entries(sample.processes).map(
      ([name, { residentBytes }]) => `${name} ${(residentBytes / 2 ** 20).toFixed(0)}`,
    );
    say(
      `${(sample.atMs / minuteMs).toFixed(1)} min, load ${sample.load.toFixed(1)}, MiB: ${mebibytes.join(', ')}`,
    );
  }
  return taken;
}

const untilShown = (stage: SoakStage, withinMs: number) =>
  until(
    'Kubernetes shows everything',
    async () => {
      const answers = await askServices(stage.bus);
      const queued = figureOf(answers, 'projector', 'queued') ?? Infinity;
      return (
        queued <= mostQueuedAtRest &&
        (figureOf(answers, 'projector', 'lagSeconds') ?? Infinity) < shownLagSeconds
      );
    },
    { withinMs, everyMs: lookEveryMs },
  );

/** What `rollcall verify` finds once nothing is under way any more. */
async function findingsAtRest(
  stage: SoakStage,
  { restWithinMs, say }: { restWithinMs: number; say: (message: string) => void },
): Promise<string[]> {
  const hub = await openHubToRead({ keys: stage.hub.stateDir });
  const untilMs = performance.now() + restWithinMs;
  try {
    for (;;) {
      await untilShown(stage, restWithinMs).catch((error: unknown) => say(String(error)));
      const { findings } = await verifyHub(hub);
      if (findings.length === 0 || performance.now() > untilMs)
        return findings.map(({ code, about, message }) => `${code} ${about}: ${message}`);
      await delay(10 * lookEveryMs);
    }
  } finally {
    await hub.close();
  }
}

async function live(
  stage: SoakStage,
  options: SoakOptions,
  { lives, fleet, say }: { lives: LifePlan; fleet: Fleet; say: (message: string) => void },
): Promise<SoakRecord> {
  const { lastsMs } = options;
  const isLong = lastsMs >= longRunMs;
  const { peopleMs, heartbeat, restWithinMs } = isLong ? pace.long : pace.short;
  const ending = new AbortController();
  const { signal } = ending;
  const log = await openEventLog(stage.bus, { epoch: stage.hub.hub.epoch, source: '/rollcall/soak' });
  const fromSequence = ((await streamSize(stage.bus, 'EVENTS'))?.lastSequence ?? 0) + 1;
  const steady = lives.steady.map(fleet.idOf);
  const mortal = createRandom(seed + 2);
  const token = await preparePeople(stage);
  const losses = hearLosses(stage.bus);
  const own = watchOwnStalls();
  const strikes = planStrikes([...stage.targets.keys()], { lastsMs, everyMs: roundMs });
  const [beganMs, beganAtMs] = [performance.now(), Date.now()];
  const people = runPeople(stage, {
    clusters: steady,
    token,
    random: createRandom(seed + 3),
    everyMs: peopleMs,
    signal,
    say,
  });
  const facts = changeFacts(fleet, steady, { random: mortal, signal });
  const struck = runStrikes(strikes, stage.targets, { beganMs, say });
  const everyMs = Math.min(samples.everyMs, lastsMs / samples.least);
  const sampled = sampleAgainAndAgain(stage, { beganMs, everyMs, endMs: lastsMs, say });
  const absences = await followPlan(lives.fleet, fleet, {
    beganAtMs,
    endMs: lastsMs,
    view: { say: (kind, what) => void (kind === 'trouble' && say(what)) },
    signal,
  });
  const kills = await struck;
  ending.abort();
  say('the end; what is under way is waited for');
  const decisions = await people;
  const changedFacts = await facts;
  const taken = await sampled;
  const { actions } = lives.fleet;
  const of = { prefix: fleet.prefix, fromSequence, beganAtMs };
  const isAtRest = async () => (await readSoakHistory(log, of, { actions, fleet })).restless.length === 0;
  await until('everybody who is there is Ready, and who was to leave has left', isAtRest, {
    withinMs: restWithinMs,
    everyMs: 10 * lookEveryMs,
  }).catch((error: unknown) => say(String(error)));
  losses.stop();
  own.stop();
  say('rollcall verify');
  const findings = await findingsAtRest(stage, { restWithinMs, say });
  const history = await readSoakHistory(log, of, { actions, fleet });
  const dead = await readDeadLetters(stage.bus);
  return {
    lastsMs,
    samples: taken,
    strikes: kills,
    people: decisions,
    changes: actions.length,
    changedFacts,
    ...silenceRecord({
      events: history.events,
      absences: [...absences, ...departuresOf(actions, { beganAtMs, idOf: fleet.idOf })],
      stalls: fleet.heartbeats.stalls(),
      intervalMs: heartbeat.interval,
      beganAtMs,
      graceMs: heartbeat.grace,
      losses: losses.heard(),
      ownStalls: own.stalls(),
      hasAgent: (clusterId) => fleet.agents?.has(clusterId) === true,
    }),
    joins: history.joins,
    restless: history.restless,
    deadLetters: dead.map(
      ({ service, subject, code, message }) => `${service} ${subject} ${code}: ${message}`,
    ),
    findings,
    ownStalls: own.stalls(),
    troubles: fleet.agents?.troubles ?? {},
  };
}

/** A whole hub on which a fleet lives for an hour, or as long as it is given; see README.md. */
export async function measureSoak(options: SoakOptions, say: (message: string) => void): Promise<SoakResult> {
  const { clusters, lastsMs, servers } = options;
  const { heartbeat, deaths, changes } = lastsMs >= longRunMs ? pace.long : pace.short;
  say(`starting a hub on ${servers} NATS server(s), with two processes of each service`);
  await using stage = await openSoakStage({
    servers,
    isCompiled: options.isFromSource !== true,
    settings: {
      registrar: { memberLife },
      approver: {
        heartbeatIntervalSeconds: `${heartbeat.interval / 1000}`,
        heartbeatGraceSeconds: `${heartbeat.grace / 1000}`,
      },
      // Else the projector's budget would be most of the beginning.
      projector: { writesPerSecond: '100000' },
    },
  });
  const { hub } = stage;
  const at = { stateDir: hub.stateDir, hub: hub.hub, address: hub.natsAddress, admin: hub.admin };
  const lives = planLives({ ...options, deaths, changes, graceMs: heartbeat.grace }, createRandom(seed));
  await using stack = new AsyncDisposableStack();
  const fleet = stack.adopt(
    await openFleet(at, lives.fleet, fleetSettings(options, heartbeat), new AbortController().signal),
    (opened) => opened.stop(),
  );
  const watch = watchRun(stage.bus, { prefix: fleet.prefix, onOutage: say });
  stack.defer(() => watch.stop());
  say(`${clusters} clusters come, ${options.real} of them with agents of their own`);
  await fleet.register(Array.from({ length: clusters }, (_, cluster) => cluster));
  await until('all have joined', async () => watch.joined() >= clusters, {
    withinMs: joinedWithinMs,
    everyMs: lookEveryMs,
  });
  say('all have joined; Kubernetes is to show them');
  await untilShown(stage, shownWithinMs);
  say(`they live for ${(lastsMs / minuteMs).toFixed(1)} min`);
  const record = await live(stage, options, { lives, fleet, say });
  return { options, record, judgements: judgeSoak(record) };
}
