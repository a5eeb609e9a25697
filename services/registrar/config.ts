import { z } from 'zod';
import { durationMs } from '@rollcall/shared/config';
import { commonConfig } from '@rollcall/shared/service';

export const configSchema = z.strictObject({
  ...commonConfig,
  memberLife: durationMs
    .default(86_400_000)
    .describe('how long member credentials are valid; renewed long before (24h)'),
  waitingLife: durationMs
    .default(259_200_000)
    .describe('how long an agent may wait with one credential (72h)'),
  reservedNames: z
    .string()
    .default('default')
    .transform((text) => text.split(',').map((name) => name.trim()))
    .describe('names no cluster may have, comma-separated; kube-* and rollcall-* are always reserved'),
  beatInterval: durationMs
    .default(15_000)
    .describe('how often agents beat unless their cluster says otherwise (15s)'),
});
export type RegistrarConfig = z.output<typeof configSchema>;
