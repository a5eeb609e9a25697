import { z } from 'zod';
import { durationMs, periodMs } from '@rollcall/shared/config';
import { commonConfig, kubernetesConfig } from '@rollcall/shared/service';
import { namespaceOwners } from './access/plan-access.ts';

export const configSchema = z.strictObject({
  ...commonConfig,
  ...kubernetesConfig,
  reservedNames: z
    .string()
    .default('')
    .transform((text) =>
      text
        .split(',')
        .map((name) => name.trim())
        .filter((name) => name !== ''),
    )
    .describe(
      'further namespace names that no cluster may have, comma-separated; default, kube-* and rollcall-* never',
    ),
  namespaces: z
    .enum(namespaceOwners)
    .default('all')
    .describe(
      'access: a namespace only for clusters that were given access in it, for fleets beyond what etcd holds',
    ),
  accessServer: z
    .url({ protocol: /^https$/ })
    .optional()
    .describe(
      'address of the API server in kubeconfigs of members, https://HOST:PORT; without it that of the own kubeconfig, and in a pod none: access is then not given',
    ),
  accessCaFile: z
    .string()
    .optional()
    .describe('PEM file of the CA that members verify it with; without it that of the own kubeconfig'),
  accessAudience: z
    .string()
    .min(1)
    .optional()
    .describe("audience of members' tokens; without it the API server's own"),
  accessTokenLife: durationMs
    .default(3_600_000)
    .refine((lifeMs) => lifeMs >= 600_000 && lifeMs <= 3_600_000, 'must be between 10m and 1h')
    .describe("how long members' tokens are valid, 10m to 1h; renewed before (1h)"),
  // A published Secret outlives its token by this at most; the token itself is refused from its end on.
  expirySweep: periodMs
    .default(30_000)
    .describe(
      'how often to look for published tokens that have expired, and for Secrets of others that are gone (30s)',
    ),
});
export type Config = z.output<typeof configSchema>;
