import { isDeepStrictEqual } from 'node:util';
import { parseDurationMs } from '@rollcall/shared/config';
import {
  type Cause,
  draft,
  type EventDraft,
  isTakenBack,
  publicationIdOf,
  type TokenDeclaration,
  tokenDeclared,
  type TokenRecord,
  tokenWithdrawn,
} from '@rollcall/shared/events';
import type { StoredObject } from '@rollcall/shared/kubernetes';
import type { ClusterRegistrationToken } from '@rollcall/shared/resources';
import { labelProblem } from '@rollcall/shared/resources/label-syntax';
import { unknownPerson } from './author-of-object.ts';

export type TokenObject = StoredObject<ClusterRegistrationToken>;

/** Which tokens a hub takes. */
export interface TokenRules {
  /** Whether it takes `ttl: "0"`. */
  readonly allowEndless: boolean;
  /**
   * Where tokens count: who may write them anywhere else lets nobody in. `any`: for who only compares what tokens give.
   */
  readonly namespaces: readonly string[] | 'any';
}

/** A token that outlives whoever made it is a mistake, not an intention. */
const longestTtlMs = 3653 * 86_400_000;

/** Why a ttl is not taken, or undefined. */
function ttlProblem(ttl: string, ttlMs: number | undefined, allowEndless: boolean): string | undefined {
  if (ttl === '0') {
    return allowEndless ? undefined : 'ttl "0" (for ever) is not allowed on this hub; write for example 24h';
  }
  if (ttlMs === undefined) return `ttl "${ttl}" is no duration; write for example 30m, 24h, 7d or 1h30m`;
  if (ttlMs === 0) return `ttl "${ttl}" is over at once; write for example 24h`;
  if (ttlMs > longestTtlMs) return `ttl "${ttl}" is longer than ten years; write for example 24h`;
  return undefined;
}

/** Whether tokens count where it is. */
export const isListed = (
  { metadata }: TokenObject,
  { namespaces }: Pick<TokenRules, 'namespaces'>,
): boolean => namespaces === 'any' || namespaces.includes(metadata.namespace ?? '');

/** Why a token does not count where it is, or undefined. */
function namespaceProblem(token: TokenObject, { namespaces }: TokenRules): string | undefined {
  if (namespaces === 'any' || isListed(token, { namespaces })) return undefined;
  return `tokens in namespace "${token.metadata.namespace}" do not count on this hub; make it in ${namespaces.join(' or ')}`;
}

/** The first of what is wrong with a token, by its part. */
function tokenProblem(
  problems: Record<'InvalidNamespace' | 'InvalidTtl' | 'InvalidLabels' | 'InvalidSet', string | undefined>,
): TokenDeclaration['problem'] {
  for (const [reason, message] of Object.entries(problems)) {
    if (message !== undefined) return { reason, message };
  }
  return undefined;
}

/**
 * Reads a ClusterRegistrationToken. What cannot be taken is declared too, with its problem and withdrawn: the person finds it
 * in the status, and nobody gets in.
 * @param options.setProblem - why nobody can be put into the set that it gives
 */
export function readToken(
  token: TokenObject,
  options: TokenRules & { nowMs: number; setProblem?: string | undefined },
): TokenDeclaration {
  const { metadata, spec } = token;
  const ttlMs = parseDurationMs(spec.ttl);
  const ofTtl = ttlProblem(spec.ttl, ttlMs, options.allowEndless);
  const problem = tokenProblem({
    InvalidNamespace: namespaceProblem(token, options),
    InvalidTtl: ofTtl,
    InvalidLabels: labelProblem(spec.labels ?? {}),
    InvalidSet: options.setProblem,
  });
  const which = {
    ...(spec.publicKey === undefined
      ? { publicationId: publicationIdOf(metadata.uid) }
      : { publicKey: spec.publicKey }),
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    uid: metadata.uid,
    declaredAtMs: options.nowMs,
  };
  // Whoever may write where no token counts could fill the history with what it says.
  if (problem?.reason === 'InvalidNamespace')
    return { ...which, uses: 1, labels: {}, allowLabels: [], problem, withdrawn: true };
  const createdAtMs = Date.parse(metadata.creationTimestamp ?? '');
  const ends = ofTtl === undefined && ttlMs !== undefined && ttlMs > 0;
  return {
    ...which,
    ...(ends ? { expiresAtMs: createdAtMs + ttlMs } : {}),
    uses: spec.uses,
    ...(spec.clusterName === undefined ? {} : { clusterName: spec.clusterName }),
    ...(spec.clientId === undefined ? {} : { clientId: spec.clientId }),
    labels: spec.labels ?? {},
    allowLabels: spec.allowLabels ?? [],
    ...(spec.clusterSet === undefined ? {} : { clusterSet: spec.clusterSet }),
    ...(spec.description === undefined ? {} : { description: spec.description }),
    ...(problem === undefined ? {} : { problem }),
    withdrawn: problem !== undefined,
  };
}

/** Two objects can carry one key; the older one where tokens count does, so that nobody widens or ends a token by copying it. */
export function objectThatCounts(
  objects: readonly TokenObject[],
  rules: Pick<TokenRules, 'namespaces'>,
): TokenObject | undefined {
  if (objects.length < 2) return objects[0];
  const age = ({ metadata }: TokenObject) => `${metadata.creationTimestamp ?? ''} ${metadata.uid}`;
  const listed = objects.filter((object) => isListed(object, rules));
  return (listed.length > 0 ? listed : objects).toSorted((a, b) => (age(a) < age(b) ? -1 : 1))[0];
}

function sameContent(a: TokenDeclaration | undefined, b: TokenDeclaration): boolean {
  // When it was declared is not what it says.
  return a !== undefined && isDeepStrictEqual({ ...a, declaredAtMs: 0 }, { ...b, declaredAtMs: 0 });
}

/** What is said of a token. In a new epoch of the hub something is, whatever was said before: until then it is void. */
function wordsFor(declaration: TokenDeclaration | undefined, wanted: TokenDeclaration) {
  const token = `token "${wanted.namespace}/${wanted.name}"`;
  if (wanted.problem)
    return { reason: 'TokenInvalid', message: `${token} is not taken: ${wanted.problem.message}` };
  if (wanted.voidSinceEpoch !== undefined)
    return {
      reason: 'TokenOldEpoch',
      message: `${token} was made before the hub was restored; it waits to be renewed`,
    };
  if (declaration?.voidSinceEpoch !== undefined)
    return { reason: 'TokenRenewed', message: `${token} was renewed after the hub was restored` };
  const hasKeyNow = declaration?.publicKey === undefined && wanted.publicationId !== undefined;
  if (declaration && hasKeyNow && wanted.publicKey !== undefined)
    return { reason: 'TokenDeclared', message: `the hub has made ${token}, and knows its key` };
  return { reason: 'TokenDeclared', message: `${token} was ${declaration ? 'changed' : 'made'}` };
}

function declare(
  record: TokenRecord,
  wanted: TokenDeclaration,
  { by, epoch }: { by: Cause; epoch: number },
): EventDraft[] {
  const { declaration, lastOf } = record;
  const isSaidInThisEpoch = (lastOf.approver?.epoch ?? 0) >= epoch;
  if (isSaidInThisEpoch && sameContent(declaration, wanted)) return [];
  const what = wordsFor(declaration, wanted);
  return [draft(tokenDeclared, record, { by, ...what, section: wanted })];
}

function withdraw(record: TokenRecord, nowMs: number): EventDraft[] {
  if (!record.declaration || isTakenBack(record.declaration)) return [];
  const { problem: _problem, ...declaration } = record.declaration;
  const token = `token "${declaration.namespace}/${declaration.name}"`;
  // The projector removes it a day after its end; a person may as well, and an API server does not say who it was.
  const isOver = declaration.expiresAtMs !== undefined && declaration.expiresAtMs <= nowMs;
  const what = isOver
    ? { by: { service: 'approver' }, reason: 'TokenExpired', message: `${token} had expired and is gone` }
    : { by: unknownPerson, reason: 'TokenDeleted', message: `${token} was deleted` };
  return [draft(tokenWithdrawn, record, { ...what, section: { ...declaration, withdrawn: true } })];
}

/**
 * The key that the hub made for a token which it was asked to make: the first that was declared along with it, for ever. The
 * provisioner says which it is; one that was stolen would else have one token count under any number of keys.
 */
export function keyMadeFor({ aggregate, declaration, publication }: TokenRecord): string | undefined {
  if (declaration?.publicationId !== aggregate.id) return undefined;
  return declaration.publicKey ?? publication?.publicKey;
}

/** Whether the aggregate of a key is that token's alone: no object has that key, and no other token. */
function isKeyOf({ aggregate }: TokenRecord, { declaration }: TokenRecord): boolean {
  return declaration === undefined || declaration.publicationId === aggregate.id;
}

/**
 * Declares a token that is new or different, and withdraws one that is gone.
 * @param context.wanted - undefined: there is no such object
 * @param context.by - who wrote it
 * @param context.ofKey - of a token that the hub made: the aggregate of its key, which is declared along, all or nothing. That
 *   one alone lets anybody in, so the approver stays the only one who makes a token good (ADR 7)
 */
export function decideToken(context: {
  record: TokenRecord;
  wanted: TokenDeclaration | undefined;
  nowMs: number;
  by?: Cause;
  ofKey?: TokenRecord | undefined;
  /** The hub's own. */
  epoch?: number | undefined;
}): EventDraft[] {
  const { record, wanted, nowMs, by = unknownPerson, epoch = 1 } = context;
  const publicKey = keyMadeFor(record);
  const ofKey = context.ofKey && isKeyOf(record, context.ofKey) ? context.ofKey : undefined;
  const both = [record, ...(ofKey && publicKey !== undefined ? [ofKey] : [])];
  if (!wanted) return both.flatMap((each) => withdraw(each, nowMs));
  const section = both.length > 1 ? { ...wanted, publicKey } : wanted;
  return both.flatMap((each) => declare(each, section, { by, epoch }));
}
