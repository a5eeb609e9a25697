import { draft, tokenDeclared, type TokenDeclaration } from '@rollcall/shared/events';
import { createNkey, tokenIdOf } from '@rollcall/shared/trust';
import { aDeclaration } from '../../../tests/harness/events.ts';
import type { JoinAttempt } from '../join/join-request.ts';
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

/** The request of an agent that holds the token. */
export function attemptOf(
  clusterId: string,
  { clusterName = clusterId, agentKey = `KEY-${clusterId}` } = {},
): JoinAttempt {
  const body = { clusterId, clusterName, clusterType: 'Standard', mode: 'Pull', tokenKey } as const;
  const facts = { kubernetesVersion: 'v1.36.3' };
  return { id: `ask-of-${clusterId}`, agentKey, tokenProven: true, body: { ...body, labels: {}, facts } };
}
