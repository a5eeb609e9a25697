import { z } from 'zod';
import { durationMs, periodMs } from '@rollcall/shared/config';
import { commonConfig } from '@rollcall/shared/service';
import { mostParts, parsePartition } from './members/heartbeat-partition.ts';

const share = z.coerce.number().min(0).max(1);

/** Settings of the heartbeat service. A cluster's own interval and grace come from its decision, not from here. */
export const configSchema = z.strictObject({
  ...commonConfig,
  heartbeatPartition: z
    .string()
    .optional()
    .transform((text, context) => {
      if (text === undefined) return undefined;
      const partition = parsePartition(text);
      if (!partition) context.addIssue(`"${text}" is no part, such as 0/2 or 1/2, of at most ${mostParts}`);
      return partition;
    })
    .describe('which part of the fleet it listens to, as 0/2 (docs/scale.md); without it the whole fleet'),
  heartbeatsPerSecond: z.coerce
    .number()
    .min(1)
    .default(20_000)
    .describe(
      'what the whole fleet may send; when it grows past that, all intervals and graces are multiplied (20000)',
    ),
  returnsPerSecond: z.coerce
    .number()
    .min(1)
    .default(500)
    .describe(
      'how many agents may come back in a second after an outage: a larger fleet is told to take longer (500)',
    ),
  suspectAfter: durationMs
    .default(2000)
    .describe('how long a lost connection may take to come back before the cluster is suspect (2s)'),
  flapLosses: z.coerce
    .number()
    .int()
    .min(2)
    .max(20)
    .default(4)
    .describe('so many losses within the window make a cluster a flapping one (4)'),
  flapWindow: periodMs.default(600_000).describe('within which time losses are counted together (10m)'),
  flapSteady: periodMs
    .default(120_000)
    .describe('for how long a flapping cluster must be heard without a gap to be ready again (2m)'),
  outageShare: share
    .default(0.3)
    .describe(
      'share of the known clusters that must go silent together before transitions are held (0 to 1)',
    ),
  outageGroupShare: share
    .default(0.5)
    .describe('the same share of one group: the clusters of one NATS server, or of one set (0 to 1)'),
  outageMinimum: z.coerce
    .number()
    .int()
    .min(1)
    .default(10)
    .describe('so many silent clusters or fewer are never an outage (10)'),
  outageWindow: periodMs
    .default(15_000)
    .describe('within which time clusters must go silent to have done so together (15s)'),
  outageDeadline: durationMs
    .default(300_000)
    .describe('after which time held transitions are taken anyway (5m)'),
  floodWindow: periodMs
    .default(2_000)
    .describe('over how long heartbeats are counted to find agents that flood the hub (2s)'),
  floodRate: z.coerce
    .number()
    .min(1)
    .default(20)
    .describe(
      'messages a second from one cluster, heartbeats or not, that are a flood; a large one counts once for each KiB; agents send one in 15 s (20)',
    ),
});
export type HeartbeatConfig = z.output<typeof configSchema>;

/** Of what the engine judges by. */
export function engineSettings(config: HeartbeatConfig) {
  return {
    suspectAfterMs: config.suspectAfter,
    steadyForMs: config.flapSteady,
    outage: {
      share: config.outageShare,
      groupShare: config.outageGroupShare,
      minimum: config.outageMinimum,
      windowMs: config.outageWindow,
      deadlineMs: config.outageDeadline,
    },
  };
}
