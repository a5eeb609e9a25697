import { draft, tokenDeclared, type TokenDeclaration } from '@rollcall/shared/events';
import { createNkey, tokenIdOf } from '@rollcall/shared/trust';
import { aDeclaration } from '../../../tests/harness/events.ts';
import type { JoinAttempt } from '../join/join-attempt.ts';
import { MemoryLog } from './memory-log.ts';

export const tokenKey = createNkey('user').publicKey;
export const tokenId = tokenIdOf(tokenKey);

/** A stream in memory that knows one token. */
export function logWithToken(uses: TokenDeclaration['uses']): MemoryLog {
  const log = new MemoryLog();
  const section = aDeclaration({ publicKey: tokenKey, uses });
  const on = log.read({ kind: 'token', id: tokenId });
  log.append([draft(tokenDeclared, on, { reason: 'Declared', message: 'm', section })]);
  return log;
}

/** A request that was read, with what is found by reading it. */
export function asAttempt(shown: Omit<JoinAttempt, 'tokenId' | 'trace'>): JoinAttempt {
  const { id, body } = shown;
  const named = body.tokenKey === undefined ? undefined : tokenIdOf(body.tokenKey);
  return { ...shown, tokenId: named, trace: { correlation: id } };
}

/** The request of an agent that holds the token. */
export function attemptOf(
  clusterId: string,
  { clusterName = clusterId, agentKey = `KEY-${clusterId}` } = {},
): JoinAttempt {
  const body = { clusterId, clusterName, clusterType: 'Standard', mode: 'Pull', tokenKey } as const;
  const facts = { kubernetesVersion: 'v1.36.3' };
  return asAttempt({
    id: `ask-of-${clusterId}`,
    agentKey,
    tokenProven: true,
    body: { ...body, labels: {}, facts },
  });
}
