import { z } from 'zod';
import { durationMs, yesOrNo } from '@rollcall/shared/config';
import { commonConfig, kubernetesConfig } from '@rollcall/shared/service';

export const configSchema = z.strictObject({
  ...commonConfig,
  ...kubernetesConfig,
  debounceMs: z.coerce
    .number()
    .int()
    .min(0)
    .max(10_000)
    .default(150)
    .describe(
      'how long (ms) a new request may stay unshown while it is being judged, so that its outcome costs one write',
    ),
  joinDebounceMs: z.coerce
    .number()
    .int()
    .min(0)
    .max(30_000)
    .default(1000)
    .describe(
      'how long (ms) the status of an approved cluster may wait for its first heartbeat, so that a fast join costs one write',
    ),
  writesPerSecond: z.coerce
    .number()
    .min(1)
    .max(100_000)
    .default(200)
    .describe('most writes per second to the API server, over all kinds'),
  projection: z
    .enum(['all', 'exceptions'])
    .default('all')
    .describe(
      'exceptions: only clusters that are not Ready or need a person are shown in Kubernetes, for fleets beyond what etcd holds',
    ),
  // Who has just seen that it is well again finds it where it was, and one that comes and goes is not made each time.
  calmFor: durationMs
    .default(60_000)
    .describe('with exceptions: how long a cluster stays shown after the last that happened to it (60s)'),
  memberGateway: yesOrNo
    .default(true)
    .describe('whether the hub has a member gateway; false: no ClusterProfile shows a way into its cluster'),
  accessServer: z
    .url({ protocol: /^https$/ })
    .optional()
    .describe(
      'address of the API server in ClusterProfiles, https://HOST:PORT; without it that of the own kubeconfig, and in a pod that of the pod network',
    ),
  accessCaFile: z
    .string()
    .optional()
    .describe('PEM file of the CA in ClusterProfiles; without it that of the own kubeconfig'),
  // Long enough to see tomorrow why an agent was refused today; the events keep it for ever.
  expiredTokenKept: durationMs
    .default(86_400_000)
    .describe('how long the object of an expired token stays (24h)'),
});
export type ProjectorConfig = z.output<typeof configSchema>;
