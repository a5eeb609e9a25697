import { z } from 'zod';
import { commaSeparated, durationMs, yesOrNo } from '@rollcall/shared/config';
import { namespaces } from '@rollcall/shared/resources';
import { commonConfig, kubernetesConfig } from '@rollcall/shared/service';

const settings = z.strictObject({
  ...commonConfig,
  ...kubernetesConfig,
  admissionProbeKubeconfig: z
    .string()
    .optional()
    .describe(
      'kubeconfig of rollcall-admission-probe; without it the admission policies count as missing and operations of people are held',
    ),
  admissionProbeContext: z
    .string()
    .optional()
    .describe('context in that kubeconfig; without it the current one'),
  // Facts: an expression takes microseconds; only a hostile one needs longer.
  policyDeadlineMs: z.coerce
    .number()
    .int()
    .min(10)
    .max(10_000)
    .default(100)
    .describe('how long all policies together may take for one request, in ms'),
  // Principle 6: a bulk change is held until a person confirms it.
  bulkPerMinute: z.coerce
    .number()
    .int()
    .min(1)
    .max(100_000)
    .default(5)
    .describe('how many members people may put out within a minute before more are held until confirmed'),
  bulkShare: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(0.05)
    .describe('the same as a share of the fleet (0 to 1), where that is more'),
  allowEndlessTokens: yesOrNo
    .default(false)
    .describe('take tokens with ttl 0, which never end (true or false)'),
  tokenNamespaces: z
    .string()
    .default(namespaces.join)
    .transform(commaSeparated)
    .describe(
      'namespaces in which registration tokens count, comma-separated; in others than rollcall-join their Secrets are published where the rbac-provisioner is bound to rollcall-published-tokens',
    ),
  // An agent that is there answers within seconds; taking what it installed out of the member is a handful of requests.
  leaveWait: durationMs
    .default(30_000)
    .describe('how long the agent of a leaving cluster has to remove itself from the member (30s)'),
  heartbeatIntervalSeconds: z.coerce
    .number()
    .int()
    .min(1)
    .max(3600)
    .default(15)
    .describe('how often agents send heartbeats'),
  heartbeatGraceSeconds: z.coerce
    .number()
    .int()
    .min(1)
    .max(86_400)
    .default(45)
    .describe('silence after which a cluster is unreachable'),
});

export const configSchema = settings.refine(
  ({ heartbeatIntervalSeconds: interval, heartbeatGraceSeconds: grace }) => grace >= interval,
  {
    path: ['heartbeatGraceSeconds'],
    error:
      'must not be less than heartbeatIntervalSeconds: every cluster would be unreachable between two heartbeats',
  },
);
export type ApproverConfig = z.output<typeof configSchema>;
