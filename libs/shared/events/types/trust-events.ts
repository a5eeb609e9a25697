import { z } from 'zod';
import { defineEvent } from '../define-event.ts';

/** The account-controller's section of a cluster. */
const cutSchema = z.looseObject({ key: z.string(), atMs: z.int() });
export type Cut = z.infer<typeof cutSchema>;

export const cut = defineEvent({
  kind: 'cluster',
  writer: 'account-controller',
  section: cutSchema,
  type: 'cut',
  description: 'The server was seen to refuse a revoked key. Follows revoked.',
});

/** What signs on this hub, as every server was seen to act on it. Public keys only. */
const hubTrustSchema = z.looseObject({
  /** Generations of the keys that sign agents' credentials, by role; each is good from `sinceMs` on. */
  agentSigners: z.array(z.looseObject({ keys: z.record(z.string(), z.string()), sinceMs: z.int() })),
  /** The operator's key that signed the account of the agents. */
  operatorKey: z.string(),
  /** The key that signs answers, and the pins of the CAs that the hub is known by: as its files say, once they were rotated. */
  replyKey: z.string().optional(),
  cas: z.array(z.string()).optional(),
  /** Where agents are told to reach the hub, once an operator said so. */
  addresses: z.array(z.string()).optional(),
});
export type HubTrust = z.infer<typeof hubTrustSchema>;

export const trustAnnounced = defineEvent({
  kind: 'hub',
  writer: 'account-controller',
  section: hubTrustSchema,
  type: 'trust-announced',
  description:
    'More keys than before are good: a next generation beside the one that signs, a next CA, or other addresses of the hub. The first one of a hub says what it began with.',
});

export const trustChanged = defineEvent({
  kind: 'hub',
  writer: 'account-controller',
  section: hubTrustSchema,
  type: 'trust-changed',
  description:
    'A key or a CA is not good any more, or another key signs answers or accounts. `by` names the person who rotated it. Follows trust-announced, unless it had to be at once.',
});
