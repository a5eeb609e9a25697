import { z } from 'zod';
import { defineEvent } from '../define-event.ts';

/** The provisioner's section of a cluster: what it has in Kubernetes. */
export const accessSchema = z.looseObject({
  state: z.enum(['provisioned', 'failed', 'deprovisioned']),
  namespace: z.string(),
  /** The request whose approval this was made for. */
  requestId: z.string().optional(),
  /** Both are there while the cluster has access. */
  serviceAccount: z.string().optional(),
  roleBinding: z.string().optional(),
  /** The two that the provisioner created: another object of that name is not its, whatever it says of itself. */
  uids: z.looseObject({ serviceAccount: z.string(), roleBinding: z.string() }).optional(),
  atMs: z.int(),
  /** After deprovisioned: the approver's verdict that it follows. Leaving takes the namespace away too. */
  verdict: z.string().optional(),
  /** After deprovisioned: why the namespace was not deleted, with `DeleteWhenEmpty`; kinds and numbers of what is in it, no names. */
  namespaceStays: z.string().optional(),
  error: z.looseObject({ code: z.string(), message: z.string() }).optional(),
  /**
   * The agent key that access tokens were made for since then; some may be good until the ServiceAccount goes. Absent
   * while there are none.
   */
  tokens: z.looseObject({ key: z.string(), sinceMs: z.int() }).optional(),
});
export type Access = z.infer<typeof accessSchema>;

const cluster = { kind: 'cluster', writer: 'rbac-provisioner', section: accessSchema } as const;

export const provisioned = defineEvent({
  ...cluster,
  type: 'provisioned',
  description:
    'The namespace of the cluster exists; with access, also ServiceAccount and RoleBinding, which are named then. Follows approved. Repeated when access was given, with reason AccessWithdrawn when the account there was is gone, which ends its access tokens, and with reason MadeAgain when Kubernetes had lost them, or had others under their names.',
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

export const accessGiven = defineEvent({
  ...cluster,
  type: 'access-given',
  description:
    "The agent asked for access to the hub API, and the approver's last decision gives it: its first token is made. Further ones are counted, not stored. Ends with provisioned (AccessWithdrawn) or deprovisioned.",
});

/** The provisioner's section of a token that the hub makes (`publish: true`). */
const publicationSchema = z.looseObject({
  state: z.enum(['published', 'failed']),
  /** Of the token in the Secret; absent after a failure. */
  publicKey: z.string().optional(),
  /** The Secret's own uid: it alone is removed later, never another one of its name. */
  secretUid: z.string().optional(),
  /** Since when nobody finds it any more, though the token is good; hub time. */
  secretGoneAtMs: z.int().optional(),
  atMs: z.int(),
  error: z.looseObject({ code: z.string(), message: z.string() }).optional(),
});
export type Publication = z.infer<typeof publicationSchema>;

const token = { kind: 'token', writer: 'rbac-provisioner', section: publicationSchema } as const;

export const tokenPublished = defineEvent({
  ...token,
  type: 'published',
  description:
    'The hub made a token and its Secret. Once for each object. Followed by declared on the aggregate of its key.',
});
export const tokenPublishingFailed = defineEvent({
  ...token,
  type: 'publishing-failed',
  description:
    'The Secret of a token could not be made, for a reason that trying again does not mend. Not repeated for the same reason; tried again when the token changes.',
});
export const tokenUnpublished = defineEvent({
  ...token,
  type: 'unpublished',
  description:
    'The Secret of a token that is good still is gone: somebody deleted it. It is not made again, and whoever has what was in it may ask. Once for each object.',
});
