import { type HubCas, isSignedByCa, signByCa } from './hub-cas.ts';
import { isSignedBy, type Nkey, type SignedMessage, signMessage } from '@rollcall/shared/trust/keys';

export interface Admitted {
  readonly kind: 'admitted';
  readonly clusterId: string;
  readonly clusterName: string;
  readonly namespace: string;
  /** The member's user JWT, for the agent's own key. */
  readonly credentials: string;
  readonly expiresAtMs: number;
  /** How long from now until the agent should renew. */
  readonly renewAfterMs: number;
  readonly heartbeatIntervalMs: number;
  /** Over how long the agents of this hub spread their return after an outage; absent: each as it likes. */
  readonly returnWithinMs?: number;
  /** What the cluster may have on the hub's API server; absent from an older hub. */
  readonly access?: 'None' | 'Namespace';
  readonly rotateKey?: RotateKey;
  /** Keys of labels that were asked for and that the cluster does not get; absent: none, or an older hub. */
  readonly droppedLabels?: readonly string[];
}

/** The key of the agent that a person wants replaced (ADR 10). Said in replies until another one is in. */
type RotateKey = string;

/** A key that was let in has named its successor, and that is let in now: the reply to verb `rotate`, and news. */
export interface Rotated extends Omit<Admitted, 'kind'> {
  readonly kind: 'rotated';
  /** The new key; the credentials are for it. */
  readonly key: string;
}

/** What the hub answers. Replies say what is so; hearing one twice changes nothing. */
export type ReplyResult =
  | {
      readonly kind: 'waiting';
      readonly clusterId: string;
      /** CamelCase: why it waits, and in the message for whom. */
      readonly reason: string;
      readonly message: string;
      /** A user JWT of the agent's own key, to wait with; independent of the token's end. */
      readonly credentials?: string;
      readonly retryAfterMs: number;
      /** Keys of labels that were asked for and that the cluster does not get; absent: none, or an older hub. */
      readonly droppedLabels?: readonly string[];
    }
  | Admitted
  | Rotated
  | {
      /** What the cluster may have on the hub's API server: the reply to verb `access`, and news when it changes. */
      readonly kind: 'access';
      readonly clusterId: string;
      readonly access: 'None' | 'Namespace';
      /** Replies only: an AccessBox for the key that the request named, base64; `by` is the key that sealed it. */
      readonly sealed?: { readonly by: string; readonly box: string };
      readonly rotateKey?: RotateKey;
    }
  | {
      readonly kind: 'refused';
      /** A code of the error catalogue, perhaps of a newer one. */
      readonly code: string;
      readonly message: string;
      readonly hint: string;
      /** When to ask again; a refusal is retried in minutes, because people change their minds. */
      readonly retryAfterMs: number;
    }
  | {
      /** The cluster leaves: remove what was installed in the member, and say so (verb `leave`). */
      readonly kind: 'leave';
      readonly clusterId: string;
      readonly reason: string;
      readonly message: string;
    }
  | {
      readonly kind: 'done';
      /** How often to send heartbeats from now on; absent: as before. */
      readonly heartbeatIntervalMs?: number;
      /** As in Admitted; absent: as before. */
      readonly returnWithinMs?: number;
      /** Nobody gets into the member by way of the hub; absent: whom its owner lets in, or an older hub. */
      readonly memberAccess?: 'Denied';
      readonly rotateKey?: RotateKey;
    };

export interface Reply {
  readonly v: 1;
  readonly hub: string;
  /** The public key of the agent it is for: one agent's answer cannot be shown to another. */
  readonly to: string;
  /** The id of the request; for news without a request (an approval), the id of the request it is about. */
  readonly inReplyTo: string;
  readonly atMs: number;
  /** The CA certificates that the hub is to be known by from now on; only once one has been replaced (ADR 5). */
  readonly hubCas?: HubCas;
  /** Where the hub is to be reached from now on; only once an operator has said so (ADR 5). */
  readonly hubAddresses?: readonly string[];
  readonly result: ReplyResult;
}

/**
 * What a hub's reply key says of its successor. The hub's id stays the hash of its first reply key, so whoever knows that
 * one, by a token or by an earlier reply, follows the links to the key that signs now (ADR 5).
 */
interface ReplyKeyLink {
  readonly v: 1;
  readonly hub: string;
  readonly nextReplyKey: string;
  readonly atMs: number;
}

/** A link as replies carry it. */
export interface SignedLink extends SignedMessage {
  /** Base64, by the CA that the hub is known by: the registrar has the reply key, and whoever steals that makes no link with it. */
  readonly caSignature?: string | undefined;
}

/**
 * @param link.replyKey - the one of now
 * @param caKeyPem - private key of the CA that agents know the hub by
 */
export function linkReplyKeys(
  link: { hub: string; replyKey: Nkey; nextReplyKey: string; atMs: number },
  caKeyPem: string,
): SignedLink {
  const { hub, replyKey, nextReplyKey, atMs } = link;
  const said: ReplyKeyLink = { v: 1, hub, nextReplyKey, atMs };
  return linkSignedByCa(signMessage(said, [replyKey]), caKeyPem);
}

/** Links of before are followed by those who know the hub by another CA once that has signed them too. */
export const linkSignedByCa = (link: SignedMessage, caKeyPem: string): SignedLink => ({
  ...link,
  caSignature: signByCa(link.signed, caKeyPem),
});

/** More than a hub rolls over in its life; whoever sends more is not one. */
export const maxReplyLinks = 64;

export function replySubject(agentKey: string, verb: string): string {
  return `rollcall.reply.${agentKey}.${verb}`;
}

/** @param chain - the links from the hub's first reply key to this one; none while it is the first */
export function encodeReply(reply: Reply, replyKey: Nkey, chain: readonly SignedLink[] = []): Uint8Array {
  const message = signMessage(reply, [replyKey]);
  return new TextEncoder().encode(JSON.stringify(chain.length === 0 ? message : { ...message, chain }));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** By hand, because the agent loads no schema library for it. */
function isSignedMessage(value: unknown): value is SignedMessage {
  const { signed, signatures } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const isRecord = typeof signatures === 'object' && signatures !== null;
  return (
    typeof signed === 'string' &&
    isRecord &&
    Object.values(signatures).every((signature) => typeof signature === 'string')
  );
}

function isLinkOfCa(link: SignedLink, caPem: string): boolean {
  try {
    return typeof link.caSignature === 'string' && isSignedByCa(link.signed, link.caSignature, caPem);
  } catch {
    return false;
  }
}

/** The keys that a trusted one vouches for, over any number of links in their order, each signed by the CA as well. */
function vouchedFor(
  chain: unknown,
  { replyKeyIsTrusted: isTrusted, caPem }: Pick<ExpectedReply, 'replyKeyIsTrusted' | 'caPem'>,
): Map<string, string> {
  const hubOf = new Map<string, string>();
  if (caPem === undefined || !Array.isArray(chain) || chain.length > maxReplyLinks) return hubOf;
  for (const link of chain as unknown[]) {
    if (!isSignedMessage(link) || !isLinkOfCa(link, caPem)) return new Map();
    const said = parseJson(link.signed) as Partial<ReplyKeyLink> | null | undefined;
    if (said?.v !== 1 || typeof said.nextReplyKey !== 'string' || typeof said.hub !== 'string')
      return new Map();
    const { hub } = said;
    const by = Object.keys(link.signatures).find((key) => hubOf.get(key) === hub || isTrusted(key));
    if (by !== undefined && isSignedBy(link, by)) hubOf.set(said.nextReplyKey, hub);
  }
  return hubOf;
}

/** For whom a reply must be, and by whom. */
interface ExpectedReply {
  readonly agentKey: string;
  /** Compares the key's hash with the token, or the key with the pinned one. */
  replyKeyIsTrusted(publicKey: string): boolean;
  /** What the hub is known by; absent: no successor of a trusted key is believed. */
  readonly caPem?: string | undefined;
}

/** The agent reckons with it: by one that is none it could say nothing any more that its hub reads. */
const latestMs = 1e14;
function isHubTime(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= latestMs;
}

/**
 * Reads a reply and checks that the hub made it for this agent.
 * @returns undefined for anything that is not a true reply: it is ignored, whoever sent it. `replyKey` may be a successor of
 *   the one that is trusted: from then on it is the one to trust
 */
export function decodeReply(
  data: Uint8Array,
  expected: ExpectedReply,
): { reply: Reply; replyKey: string } | undefined {
  const envelope = parseJson(new TextDecoder().decode(data));
  if (!isSignedMessage(envelope)) return undefined;
  const isTrusted = expected.replyKeyIsTrusted;
  const signers = Object.keys(envelope.signatures);
  const known = signers.find((key) => isTrusted(key));
  // Who knows the key that signs has no use for the links.
  const hubOf =
    known === undefined ? vouchedFor((envelope as { chain?: unknown }).chain, expected) : new Map();
  const replyKey = known ?? signers.find((key) => hubOf.has(key));
  if (replyKey === undefined || !isSignedBy(envelope, replyKey)) return undefined;
  const reply = parseJson(envelope.signed) as Reply | null | undefined;
  if (reply?.v !== 1 || reply.to !== expected.agentKey || !reply.result) return undefined;
  if (!isHubTime(reply.atMs)) return undefined;
  // A link is about one hub, and so is the key that it names.
  const vouchedHub = isTrusted(replyKey) ? reply.hub : hubOf.get(replyKey);
  return vouchedHub === reply.hub ? { reply, replyKey } : undefined;
}
