import { z } from 'zod';
import { defineEvent } from '../define-event.ts';

/** The agent host's section of a cluster that names a kubeconfig Secret: how far the hub has come with it. */
const hostingSchema = z.looseObject({
  /** `probed`: the host is its agent. `installed`: an agent runs in the member. `failed`: neither yet; it is tried again. */
  state: z.enum(['probed', 'installed', 'failed']),
  /** Which registration of the cluster it is about: that of `predefined.kubeconfig` in the approver's section. */
  sinceMs: z.int(),
  atMs: z.int(),
});
export type Hosting = z.infer<typeof hostingSchema>;

const cluster = { kind: 'cluster', writer: 'agent-host', section: hostingSchema } as const;

export const hosted = defineEvent({
  ...cluster,
  type: 'hosted',
  description:
    'The agent host reached the member (mode Push), which is the cluster that was meant, and is its agent from now on. Repeated after a hosting-failed.',
});
export const agentInstalled = defineEvent({
  ...cluster,
  type: 'agent-installed',
  description:
    'The agent that the host installed in the member (mode Pull) was heard; the kubeconfig is not needed any more. Once for each registration of the cluster.',
});
export const hostingFailed = defineEvent({
  ...cluster,
  type: 'hosting-failed',
  description:
    'The member could not be reached, or its kubeconfig cannot be used; the reason says why. It is tried again, later each time, and at once when the Secret changes. Not repeated for the same reason in the same words.',
});
