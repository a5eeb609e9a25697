import { z } from 'zod';
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
});
export type Config = z.output<typeof configSchema>;
