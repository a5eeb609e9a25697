import { z } from 'zod';
import { defineEvent } from './define-event.ts';

/** The provisioner's section of a cluster: what it has in Kubernetes. */
export const accessSchema = z.looseObject({
  state: z.enum(['provisioned', 'failed', 'deprovisioned']),
  namespace: z.string(),
  /** The request whose approval this was made for. */
  requestId: z.string().optional(),
  serviceAccount: z.string().optional(),
  roleBinding: z.string().optional(),
  atMs: z.int(),
  /** After deprovisioned: the approver's verdict that it follows. Leaving takes the namespace away too. */
  verdict: z.string().optional(),
  error: z.looseObject({ code: z.string(), message: z.string() }).optional(),
});
export type Access = z.infer<typeof accessSchema>;

const cluster = { kind: 'cluster', writer: 'rbac-provisioner', section: accessSchema } as const;

export const provisioned = defineEvent({
  ...cluster,
  type: 'provisioned',
  description: 'Namespace, ServiceAccount and RoleBinding of the cluster exist. Follows approved.',
});
export const provisioningFailed = defineEvent({
  ...cluster,
  type: 'provisioning-failed',
  description:
    'They could not be made, for a reason that trying again does not mend. Not repeated for the same reason.',
});
export const deprovisioned = defineEvent({
  ...cluster,
  type: 'deprovisioned',
  description: 'What was provisioned is gone. Follows denied, revoked or leaving.',
});
