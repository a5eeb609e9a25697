import type { EventLog } from '@rollcall/shared/bus';
import {
  approved,
  clusterRecord,
  type Decision,
  denied,
  draft,
  held,
  tokenDeclared,
  type TokenDeclaration,
} from '@rollcall/shared/events';
import { createRegistrationToken, type RegistrationToken, tokenIdOf } from '@rollcall/shared/trust';

/** An approver's section of a cluster, with overrides. */
export function aDecision(overrides: Partial<Decision> = {}): Decision {
  return {
    verdict: 'held',
    clusterName: 'one',
    namespace: 'one',
    labels: {},
    access: 'None',
    namespacePolicy: 'Delete',
    unschedulable: false,
    taints: [],
    heartbeat: { intervalSeconds: 15, graceSeconds: 45 },
    by: { policy: 'test', rule: 'test' },
    reason: 'PolicyDecided',
    message: 'decided by a test',
    decidedAtMs: 1,
    revokedKeys: [],
    ...overrides,
  };
}

/** An approver's section of a token, with overrides. */
export function aDeclaration(overrides: Partial<TokenDeclaration> = {}): TokenDeclaration {
  return {
    publicKey: 'UTOKEN',
    namespace: 'rollcall-join',
    name: 'one',
    uid: 'uid',
    declaredAtMs: 1,
    uses: 1,
    labels: {},
    allowLabels: [],
    withdrawn: false,
    ...overrides,
  };
}

/** Declares a token as the approver would, for tests of other services. */
export async function declareToken(
  approverLog: EventLog,
  hubId: string,
  overrides: Partial<TokenDeclaration> = {},
): Promise<RegistrationToken & { text: string }> {
  const token = createRegistrationToken(hubId);
  const { publicKey } = token.key;
  const nowMs = Date.now();
  const section = aDeclaration({
    publicKey,
    name: 'test',
    declaredAtMs: nowMs,
    expiresAtMs: nowMs + 3_600_000,
    ...overrides,
  });
  const on = { aggregate: { kind: 'token', id: tokenIdOf(publicKey) } as const, head: undefined };
  await approverLog.append([draft(tokenDeclared, on, { reason: 'Declared', message: 'declared', section })], {
    correlation: 'test',
  });
  return token;
}

const verdicts = { approved, held, denied } as const;

/** Decides about the newest request of a cluster as the approver would, for tests of other services. */
export async function decideAs(
  approverLog: EventLog,
  clusterId: string,
  verdict: keyof typeof verdicts,
  overrides: Partial<Decision> = {},
): Promise<Decision> {
  const record = clusterRecord(await approverLog.read({ kind: 'cluster', id: clusterId }));
  const { identity } = record;
  if (!identity) throw new Error(`cluster ${clusterId} has no request`);
  const { key, id, labels } = identity.request;
  const section = aDecision({
    verdict,
    requestId: id,
    key,
    ...(verdict === 'approved' ? { approvedKey: key } : {}),
    clusterName: identity.clusterName,
    namespace: identity.clusterName,
    labels,
    decidedAtMs: Date.now(),
    ...overrides,
  });
  const { reason, message, by } = section;
  await approverLog.append([draft(verdicts[verdict], record, { by, reason, message, section })], {
    correlation: id,
  });
  return section;
}
