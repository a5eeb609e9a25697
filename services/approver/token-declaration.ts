import { isDeepStrictEqual } from 'node:util';
import { parseDurationMs } from '@rollcall/shared/config';
import {
  draft,
  type EventDraft,
  type TokenDeclaration,
  tokenDeclared,
  type TokenRecord,
  tokenWithdrawn,
} from '@rollcall/shared/events';
import type { StoredObject } from '@rollcall/shared/kubernetes';
import type { ClusterRegistrationToken } from '@rollcall/shared/resources';

export type TokenObject = StoredObject<ClusterRegistrationToken>;

/** What a person wrote, or why it is not taken. */
export type WantedToken = { readonly declaration: TokenDeclaration } | { readonly problem: string };

/**
 * Reads a ClusterRegistrationToken.
 * @param options.allowEndless - whether this hub takes `ttl: "0"`
 * @returns undefined for a token that the hub itself is to make (`publish`), which has no key yet
 */
export function readToken(
  object: TokenObject,
  options: { nowMs: number; allowEndless: boolean },
): WantedToken | undefined {
  const { metadata, spec } = object;
  if (spec.publicKey === undefined) return undefined;
  const createdAtMs = Date.parse(metadata.creationTimestamp ?? '');
  const isEndless = spec.ttl === '0';
  const ttlMs = parseDurationMs(spec.ttl);
  if (isEndless && !options.allowEndless) return { problem: 'ttl 0 is not allowed on this hub' };
  if (!isEndless && (ttlMs === undefined || Number.isNaN(createdAtMs))) {
    return { problem: `ttl "${spec.ttl}" is no duration; write for example 30m, 24h or 1h30m` };
  }
  return {
    declaration: {
      publicKey: spec.publicKey,
      namespace: metadata.namespace ?? '',
      name: metadata.name,
      uid: metadata.uid,
      declaredAtMs: options.nowMs,
      ...(ttlMs === undefined || isEndless ? {} : { expiresAtMs: createdAtMs + ttlMs }),
      uses: spec.uses,
      ...(spec.clusterName === undefined ? {} : { clusterName: spec.clusterName }),
      ...(spec.clientId === undefined ? {} : { clientId: spec.clientId }),
      labels: spec.labels ?? {},
      allowLabels: spec.allowLabels ?? [],
      ...(spec.clusterSet === undefined ? {} : { clusterSet: spec.clusterSet }),
      withdrawn: false,
    },
  };
}

/** Two objects can carry one key; the older one counts, so that nobody widens a token by copying it. */
export function objectThatCounts(objects: readonly TokenObject[]): TokenObject | undefined {
  const age = ({ metadata }: TokenObject) => `${metadata.creationTimestamp ?? ''} ${metadata.uid}`;
  return objects.toSorted((a, b) => (age(a) < age(b) ? -1 : 1))[0];
}

function sameContent(a: TokenDeclaration | undefined, b: TokenDeclaration): boolean {
  // When it was declared is not what it says.
  return a !== undefined && isDeepStrictEqual({ ...a, declaredAtMs: 0 }, { ...b, declaredAtMs: 0 });
}

/**
 * Declares a token that is new or different, and withdraws one that is gone.
 * @param context.wanted - undefined: there is no such object, or it says nothing that the hub can take
 */
export function decideToken(context: {
  record: TokenRecord;
  wanted: TokenDeclaration | undefined;
}): EventDraft[] {
  const { record, wanted } = context;
  const { declaration } = record;
  const by = { person: 'unknown' };
  if (wanted) {
    if (sameContent(declaration, wanted)) return [];
    const message = `token "${wanted.namespace}/${wanted.name}" was ${declaration ? 'changed' : 'made'}`;
    return [draft(tokenDeclared, record, { by, reason: 'TokenDeclared', message, section: wanted })];
  }
  if (!declaration || declaration.withdrawn) return [];
  const message = `token "${declaration.namespace}/${declaration.name}" was deleted`;
  return [
    draft(tokenWithdrawn, record, {
      by,
      reason: 'TokenDeleted',
      message,
      section: { ...declaration, withdrawn: true },
    }),
  ];
}
