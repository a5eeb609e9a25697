import { z } from 'zod';
import { durationMs, formatDuration, periodMs, revocationsCoverMs } from '@rollcall/shared/config';
import { commonConfig } from '@rollcall/shared/service';

export const configSchema = z.strictObject({
  ...commonConfig,
  longestCredentialLife: durationMs
    .refine(
      (lifeMs) => lifeMs >= revocationsCoverMs,
      `is shorter than ${formatDuration(revocationsCoverMs)}: credentials that a registrar may issue would end after their revocation`,
    )
    .default(revocationsCoverMs)
    .describe(
      'how long a key stays on the revocation list: 73h at least, as any agent credential may live 72h; more only while older ones are out that live longer (73h)',
    ),
  checkInterval: periodMs
    .default(60_000)
    .describe('how often all servers are compared with what should be, and mended (60s)'),
});
export type Config = z.output<typeof configSchema>;
