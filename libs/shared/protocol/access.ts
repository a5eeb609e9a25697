import { z } from 'zod';
import type { ErrorCode } from '@rollcall/shared/errors';
import { parseJsonAs } from './parse-json-as.ts';

/**
 * What a sealed answer to verb `access` holds; nobody but the agent can open it. It names the request that it answers, so that an
 * older box cannot be shown for a newer one.
 */
export interface AccessBox {
  readonly v: 1;
  readonly requestId: string;
  readonly clusterId: string;
  readonly namespace: string;
  /** `https://host:port` of the hub's API server, as members reach it. */
  readonly server: string;
  /** PEM; absent where the roots of the system verify it. */
  readonly caPem?: string | undefined;
  readonly token: string;
  /** Hub time. */
  readonly expiresAtMs: number;
}

/** Where the registrar has access tokens minted. */
export const mintSubject = 'rollcall.access.mint';

const mintReply = z.discriminatedUnion('kind', [
  /** `box` is an AccessBox, sealed to the agent; base64. */
  z.object({ kind: z.literal('sealed'), by: z.string().max(64), box: z.string().max(40_000) }),
  /** The approver's last decision gives no access. */
  z.object({ kind: z.literal('none') }),
  z.object({ kind: z.literal('refused'), code: z.string().max(64), message: z.string().max(1000) }),
]);
/** What the provisioner answers the registrar, which cannot open what it passes on. */
export type MintReply =
  | Exclude<z.infer<typeof mintReply>, { kind: 'refused' }>
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly message: string };

export function encodeMintReply(reply: MintReply): string {
  return JSON.stringify(reply);
}

/** @returns undefined for what is none; codes are compared by the reader, because a newer provisioner may have others */
export function decodeMintReply(text: string): z.infer<typeof mintReply> | undefined {
  return parseJsonAs(mintReply, text);
}
