import { randomUUID } from 'node:crypto';
import type { Reply } from '@rollcall/shared/protocol';
import type { Nkey } from '@rollcall/shared/trust';
import type { RawAgent } from './raw-agent.ts';

/** What a new agent asks for, with overrides. */
export function aJoin(token: { key: { publicKey: string } }, overrides: Record<string, unknown> = {}) {
  const clusterId: string = randomUUID();
  return {
    clusterId,
    clusterName: `c-${clusterId.slice(0, 8)}`,
    tokenKey: token.key.publicKey,
    facts: { kubernetesVersion: 'v1.36.3' },
    ...overrides,
  };
}

/** Asks with that token; the answer is whole. */
export const joinWith = (agent: RawAgent, token: { key: Nkey }, body: unknown): Promise<Reply> =>
  agent.request('join', body, { signers: [agent.key, token.key] });

export const askToJoin = async (agent: RawAgent, token: { key: Nkey }, body: unknown) =>
  (await joinWith(agent, token, body)).result;
