import { z } from 'zod';
import {
  credentialLifeMs,
  periodMs,
  longestCredentialLifeMs,
  usualMemberLifeMs,
} from '@rollcall/shared/config';
import { commonConfig } from '@rollcall/shared/service';

const cap = z.coerce.number().int().min(1);

export const configSchema = z.strictObject({
  ...commonConfig,
  memberLife: credentialLifeMs
    .default(usualMemberLifeMs)
    .describe('how long member credentials are valid, 72h at most; renewed long before (24h)'),
  waitingLife: credentialLifeMs
    .default(longestCredentialLifeMs)
    .describe('how long an agent may wait with one credential, 72h at most (72h)'),
  reservedNames: z
    .string()
    .default('default')
    .transform((text) => text.split(',').map((name) => name.trim()))
    .describe('names no cluster may have, comma-separated; kube-* and rollcall-* are always reserved'),
  heartbeatInterval: periodMs
    .default(15_000)
    .describe('how often agents send heartbeats unless their cluster says otherwise (15s)'),
  maxOpenRequests: cap
    .default(10_000)
    .describe('how many requests may wait for a decision; beyond it new ones are refused (10000)'),
  maxOpenRequestsPerToken: cap
    .default(1000)
    .describe('the same with one token; a token for many clusters could else fill the hub (1000)'),
  maxUsesPerTokenPerDay: cap
    .default(10_000)
    .describe(
      'how often one token may be used within a day; beyond it requests are told to come again (10000)',
    ),
  maxBytesPerTokenPerDay: cap
    .default(33_554_432)
    .describe(
      'how large the requests with one token may be together within a day, with what members report; 3 KiB is usual, 100 the most (33554432)',
    ),
  maxBytesPerDay: cap.default(536_870_912).describe('the same with all tokens, for each replica (536870912)'),
  spaceInterval: periodMs
    .default(10_000)
    .describe('how often to look how full the disk of the events is (10s)'),
});
export type RegistrarConfig = z.output<typeof configSchema>;
