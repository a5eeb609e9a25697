import { z } from 'zod';
import { durationMs } from '@rollcall/shared/config';
import { commonConfig } from '@rollcall/shared/service';

export const configSchema = z.strictObject({
  ...commonConfig,
  longestCredentialLife: durationMs
    .default(262_800_000)
    .describe(
      'how long a key stays on the revocation list: longer than any agent credential lives (waiting: 72h)',
    ),
  checkInterval: durationMs
    .default(60_000)
    .describe('how often all servers are compared with what should be, and mended (60s)'),
});
export type Config = z.output<typeof configSchema>;
