import { durationMs } from '@rollcall/shared/config';
import { z } from 'zod';

const duration = z.string('expected a duration, for example 30s').pipe(durationMs);

/** `40%` → 0.4 */
const share = z.string('expected a share, for example 40%').transform((text, context) => {
  const percent = /^(\d{1,3}(?:\.\d+)?)%$/.exec(text)?.[1];
  if (percent !== undefined && Number(percent) <= 100) return Number(percent) / 100;
  context.addIssue({ code: 'custom', message: `"${text}" is no share; write for example 40%` });
  return z.NEVER;
});

const groupName = z.string().regex(/^[a-z][a-z0-9-]{0,30}$/, 'a name is of a-z, 0-9 and -');

const who = {
  /** When it begins, from the moment on at which all clusters are ready. */
  at: duration,
  /** Default: all groups. */
  group: groupName.optional(),
  /** Of the group; which of its clusters, the seed says. */
  share: share.default(1),
};

const stepSchema = z.discriminatedUnion('do', [
  /** Connections break, and nothing gets through until it is over: a datacenter without power. */
  z.strictObject({ do: z.literal('outage'), ...who, for: duration }),
  /** Connections stand and nothing gets through: a network that drops packets, an agent that hangs. */
  z.strictObject({ do: z.literal('silence'), ...who, for: duration }),
  /** Each says goodbye and is back after a while, one after the other: a new version is rolled out. */
  z.strictObject({ do: z.literal('restart'), ...who, over: duration, for: duration }),
  /** Goes silent again and again. */
  z.strictObject({
    do: z.literal('flap'),
    ...who,
    times: z.int().min(1).max(1000),
    every: duration,
    for: duration,
  }),
  /** More clusters register: `share` of those that the group began with. */
  z.strictObject({
    do: z.literal('grow'),
    ...who,
    over: duration,
    /** `own`: each has an agent of its own, as those that `--real` counts. */
    agents: z.enum(['made-up', 'own']).default('made-up'),
  }),
  /** Clusters leave for good, all at once or one after the other. */
  z.strictObject({ do: z.literal('leave'), ...who, over: duration.default(0) }),
  /** Clusters leave for good and as many new ones register. */
  z.strictObject({ do: z.literal('churn'), ...who, over: duration }),
]);
export type Step = z.output<typeof stepSchema>;

/** What happens to a fleet that is made up: the shape of a scenario file. */
export const scenarioSchema = z
  .strictObject({
    description: z.string().max(1024),
    heartbeat: z
      .strictObject({ interval: duration, grace: duration })
      .default({ interval: 5000, grace: 15_000 }),
    /** Shares of the fleet; together 100 %. */
    groups: z.record(groupName, share).default({ all: 1 }),
    steps: z.array(stepSchema).max(100),
    end: duration,
  })
  .superRefine(({ groups, steps, heartbeat, end }, context) => {
    const refuse = (path: (string | number)[], message: string) =>
      context.addIssue({ code: 'custom', path, message });
    const sum = Object.values(groups).reduce((all, one) => all + one, 0);
    if (Math.abs(sum - 1) > 1e-9)
      refuse(['groups'], `the shares are ${Math.round(sum * 1000) / 10}% together, expected 100%`);
    for (const name of ['interval', 'grace'] as const)
      if (heartbeat[name] < 1000) refuse(['heartbeat', name], 'expected at least 1s');
    if (heartbeat.grace < heartbeat.interval)
      refuse(['heartbeat', 'grace'], 'expected at least the interval');
    for (const [index, step] of steps.entries()) {
      const { group, at } = step;
      if (group !== undefined && !Object.hasOwn(groups, group))
        refuse(
          ['steps', index, 'group'],
          `there is no group "${group}": expected one of ${Object.keys(groups).join(', ')}`,
        );
      if (at > end) refuse(['steps', index, 'at'], 'it begins after the end of the scenario');
      if (step.do === 'flap' && step.for >= step.every)
        refuse(['steps', index, 'for'], 'expected less than `every`');
    }
  });
export type Scenario = z.output<typeof scenarioSchema>;
