import { z } from 'zod';
import { commaSeparated, yesOrNo } from '@rollcall/shared/config';
import { commonConfig, kubernetesConfig } from '@rollcall/shared/service';
import { rollcallVersion } from '@rollcall/shared/service/version';
import { blockList } from './refused-address.ts';

function isRange(range: string): boolean {
  try {
    blockList([range]);
    return true;
  } catch {
    return false;
  }
}

/** Settings of the agent host: which members it must not connect to, and what it installs. */
export const configSchema = z.strictObject({
  ...commonConfig,
  ...kubernetesConfig,
  allowLoopbackMembers: yesOrNo
    .default(false)
    .describe('whether members may be on this very host: for development only (true or false)'),
  refusedRanges: z
    .string()
    .default('')
    .transform(commaSeparated)
    .refine((ranges) => ranges.every(isRange), 'every one must be an address range, such as 10.96.0.0/12')
    .describe(
      'address ranges that no member can be in, comma-separated: the pods and Services of the cluster that the hub runs in',
    ),
  agentImage: z
    .string()
    .min(1)
    .default(`rollcall-agent:${rollcallVersion}`)
    .describe('image of the agents that are installed in members (mode Pull)'),
});
export type HostConfig = z.output<typeof configSchema>;
