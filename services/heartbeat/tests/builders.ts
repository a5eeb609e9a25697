import {
  approved,
  clusterRecord,
  type ClusterRecord,
  type Decision,
  foldRecord,
  type Liveness,
} from '@rollcall/shared/events';
import { aDecision, anIdentity } from '../../../tests/harness/events.ts';

export const liveness: Liveness = {
  state: 'ready',
  key: 'UA',
  cause: 'Alive',
  joinedAtMs: 1500,
  sinceMs: 1500,
  lastHeartbeatAtMs: 1500,
};

/** A member as the other services wrote it. */
export function aMember(
  was: Partial<Liveness> | undefined,
  verdict: Decision['verdict'] = 'approved',
): ClusterRecord {
  const decision = aDecision({
    verdict,
    key: 'UA',
    ...(verdict === 'approved' ? { approvedKey: 'UA' } : {}),
    clusterName: 'c1',
    namespace: 'c1',
  });
  return {
    ...clusterRecord(foldRecord({ kind: 'cluster', id: 'c1' }, [])),
    head: { epoch: 1, sequence: 9, digest: 'sha256:x' },
    identity: anIdentity({ state: 'admitted', admittedKey: 'UA', admittedAtMs: 1000 }),
    decision: approved.section.parse(decision) as Decision,
    liveness: was && { ...liveness, ...was },
  };
}
