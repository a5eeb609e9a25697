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

/** The key of the agent that a person wants replaced (ADR 10). Said in answers until another one is in. */
type RotateKey = string;

/** A key that was let in has named its successor, and that is let in now: the answer to verb `rotate`, and news. */
export interface Rotated extends Omit<Admitted, 'kind'> {
  readonly kind: 'rotated';
  /** The new key; the credentials are for it. */
  readonly key: string;
}

/** What the hub answers. Answers say what is so; hearing one twice changes nothing. */
export type AnswerResult =
  | {
      readonly kind: 'waiting';
      readonly clusterId: string;
      /** CamelCase: why it waits, and in the message for whom. */
      readonly reason: string;
      readonly message: string;
      /** A user JWT of the agent's own key, to wait with; independent of the token's end. */
      readonly credentials?: string;
      readonly askAgainMs: number;
      /** Keys of labels that were asked for and that the cluster does not get; absent: none, or an older hub. */
      readonly droppedLabels?: readonly string[];
    }
  | Admitted
  | Rotated
  | {
      /** What the cluster may have on the hub's API server: the answer to verb `access`, and news when it changes. */
      readonly kind: 'access';
      readonly clusterId: string;
      readonly access: 'None' | 'Namespace';
      /** Answers only: an AccessBox for the key that the ask named, base64; `by` is the key that sealed it. */
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
      readonly askAgainMs: number;
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
      readonly rotateKey?: RotateKey;
    };

export interface Answer {
  readonly v: 1;
  readonly hub: string;
  /** The public key of the agent it is for: one agent's answer cannot be shown to another. */
  readonly to: string;
  /** The id of the ask; for news without an ask (an approval), the id of the request it is about. */
  readonly inReplyTo: string;
  readonly atMs: number;
  /** The CA certificates that the hub is to be known by from now on; only once one has been replaced (ADR 5). */
  readonly hubCas?: HubCas;
  /** Where the hub is to be reached from now on; only once an operator has said so (ADR 5). */
  readonly hubAddresses?: readonly string[];
  readonly result: AnswerResult;
}

/**
 * What a hub's answer key says of its successor. The hub's id stays the hash of its first answer key, so whoever knows that
 * one, by a token or by an earlier answer, follows the links to the key that signs now (ADR 5).
 */
interface AnswerKeyLink {
  readonly v: 1;
  readonly hub: string;
  readonly nextAnswerKey: string;
  readonly atMs: number;
}

/** A link as answers carry it. */
export interface SignedLink extends SignedMessage {
  /** Base64, by the CA that the hub is known by: the registrar has the answer key, and whoever steals that makes no link with it. */
  readonly caSignature?: string | undefined;
}

/**
 * @param link.answerKey - the one of now
 * @param caKeyPem - private key of the CA that agents know the hub by
 */
export function linkAnswerKeys(
  link: { hub: string; answerKey: Nkey; nextAnswerKey: string; atMs: number },
  caKeyPem: string,
): SignedLink {
  const { hub, answerKey, nextAnswerKey, atMs } = link;
  const said: AnswerKeyLink = { v: 1, hub, nextAnswerKey, atMs };
  return linkSignedByCa(signMessage(said, [answerKey]), caKeyPem);
}

/** Links of before are followed by those who know the hub by another CA once that has signed them too. */
export const linkSignedByCa = (link: SignedMessage, caKeyPem: string): SignedLink => ({
  ...link,
  caSignature: signByCa(link.signed, caKeyPem),
});

/** More than a hub rolls over in its life; whoever sends more is not one. */
export const maxAnswerLinks = 64;

export function answerSubject(agentKey: string, verb: string): string {
  return `rollcall.answer.${agentKey}.${verb}`;
}

/** @param chain - the links from the hub's first answer key to this one; none while it is the first */
export function encodeAnswer(answer: Answer, answerKey: Nkey, chain: readonly SignedLink[] = []): Uint8Array {
  const message = signMessage(answer, [answerKey]);
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
  { answerKeyIsTrusted: isTrusted, caPem }: Pick<ExpectedAnswer, 'answerKeyIsTrusted' | 'caPem'>,
): Map<string, string> {
  const hubOf = new Map<string, string>();
  if (caPem === undefined || !Array.isArray(chain) || chain.length > maxAnswerLinks) return hubOf;
  for (const link of chain as unknown[]) {
    if (!isSignedMessage(link) || !isLinkOfCa(link, caPem)) return new Map();
    const said = parseJson(link.signed) as Partial<AnswerKeyLink> | null | undefined;
    if (said?.v !== 1 || typeof said.nextAnswerKey !== 'string' || typeof said.hub !== 'string')
      return new Map();
    const { hub } = said;
    const by = Object.keys(link.signatures).find((key) => hubOf.get(key) === hub || isTrusted(key));
    if (by !== undefined && isSignedBy(link, by)) hubOf.set(said.nextAnswerKey, hub);
  }
  return hubOf;
}

/** For whom an answer must be, and by whom. */
interface ExpectedAnswer {
  readonly agentKey: string;
  /** Compares the key's hash with the token, or the key with the pinned one. */
  answerKeyIsTrusted(publicKey: string): boolean;
  /** What the hub is known by; absent: no successor of a trusted key is believed. */
  readonly caPem?: string | undefined;
}

/**
 * Reads an answer and checks that the hub made it for this agent.
 * @returns undefined for anything that is not a true answer: it is ignored, whoever sent it. `answerKey` may be a successor of
 *   the one that is trusted: from then on it is the one to trust
 */
export function decodeAnswer(
  data: Uint8Array,
  expected: ExpectedAnswer,
): { answer: Answer; answerKey: string } | undefined {
  const envelope = parseJson(new TextDecoder().decode(data));
  if (!isSignedMessage(envelope)) return undefined;
  const isTrusted = expected.answerKeyIsTrusted;
  const signers = Object.keys(envelope.signatures);
  const known = signers.find((key) => isTrusted(key));
  // Who knows the key that signs has no use for the links.
  const hubOf =
    known === undefined ? vouchedFor((envelope as { chain?: unknown }).chain, expected) : new Map();
  const answerKey = known ?? signers.find((key) => hubOf.has(key));
  if (answerKey === undefined || !isSignedBy(envelope, answerKey)) return undefined;
  const answer = parseJson(envelope.signed) as Answer | null | undefined;
  if (answer?.v !== 1 || answer.to !== expected.agentKey || !answer.result) return undefined;
  // A link is about one hub, and so is the key that it names.
  const vouchedHub = isTrusted(answerKey) ? answer.hub : hubOf.get(answerKey);
  return vouchedHub === answer.hub ? { answer, answerKey } : undefined;
}
