import { refillStream } from '@rollcall/shared/bus';
import { createNkey } from '@rollcall/shared/trust';
import { newAgentState } from '../../agent/keys/own-keys.ts';
import { livesOf, messagesOf } from './cluster-history.ts';
import type { TestHub } from './test-hub.ts';

/** What the agent of a member keeps between its runs. */
export type KnownMember = ReturnType<typeof newAgentState>;

const dayMs = 86_400_000;

/**
 * Clusters that were admitted and ready before: their history on the hub, which must have none yet, and what their agents have.
 * @param options.endsInMs - of their credentials; negative: they have ended
 */
export async function enrolMembers(
  hub: TestHub,
  options: { count: number; endsInMs: number },
): Promise<KnownMember[]> {
  const { count, endsInMs } = options;
  const nowMs = Date.now();
  const keys = Array.from({ length: count }, () => createNkey('user'));
  const lives = livesOf(
    keys.map(({ publicKey }) => publicKey),
    nowMs - 60_000,
  );
  await refillStream(await hub.connectAsOperator(), messagesOf(lives), { sameSequences: true });
  return keys.map(({ seed }, index) => {
    const [clusterId, clusterName] = [`cluster-${index}`, `edge-${index}`];
    const { jwt } = hub.agentCredentials('member', clusterId, {
      seed,
      issuedAtMs: nowMs + endsInMs - dayMs,
      lifeMs: dayMs,
    });
    const member = {
      jwt,
      renewAtMs: nowMs + endsInMs - 0.3 * dayMs,
      heartbeatIntervalMs: 15_000,
      clusterName,
      namespace: clusterName,
    };
    return { ...newAgentState({ clusterId, hubId: hub.hub.hubId }), seed, member };
  });
}
