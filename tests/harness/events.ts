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

/** Declares a token as the approver would, for tests of other services. */
export async function declareToken(
  approverLog: EventLog,
  hubId: string,
  overrides: Partial<TokenDeclaration> = {},
): Promise<RegistrationToken & { text: string }> {
  const token = createRegistrationToken(hubId);
  const { publicKey } = token.key;
  const section: TokenDeclaration = {
    publicKey,
    namespace: 'rollcall-join',
    name: 'test',
    uid: 'uid',
    declaredAtMs: Date.now(),
    expiresAtMs: Date.now() + 3_600_000,
    uses: 1,
    labels: {},
    allowLabels: [],
    withdrawn: false,
    ...overrides,
  };
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
  const section: Decision = {
    verdict,
    requestId: id,
    key,
    ...(verdict === 'approved' ? { approvedKey: key } : {}),
    clusterName: identity.clusterName,
    namespace: identity.clusterName,
    labels,
    access: 'None',
    namespacePolicy: 'Delete',
    unschedulable: false,
    taints: [],
    heartbeat: { intervalSeconds: 15, graceSeconds: 45 },
    by: { policy: 'test', rule: 'test' },
    reason: 'PolicyDecided',
    message: 'decided by a test',
    decidedAtMs: Date.now(),
    revokedKeys: [],
    ...overrides,
  };
  const { reason, message, by } = section;
  await approverLog.append([draft(verdicts[verdict], record, { by, reason, message, section })], {
    correlation: id,
  });
  return section;
}
