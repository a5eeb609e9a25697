import { z } from 'zod';
import { durationMs } from '@rollcall/shared/config';
import { commonConfig, kubernetesConfig } from '@rollcall/shared/service';

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
  // A published Secret outlives its token by this at most; the token itself is refused from its end on.
  expirySweep: durationMs
    .default(30_000)
    .describe('how often to look for published tokens that have expired (30s)'),
});
export type Config = z.output<typeof configSchema>;
