import type { EventLog } from '@rollcall/shared/bus';
import {
  approved,
  clusterRecord,
  type Decision,
  denied,
  draft,
  held,
  type Identity,
  identitySchema,
  policyDeclared,
  requested,
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

/** The registrar's section of a cluster, with overrides. */
export function anIdentity(overrides: Partial<Identity> = {}): Identity {
  return {
    state: 'requested',
    clusterId: 'id-1',
    clusterName: 'one',
    clusterType: 'Standard',
    mode: 'Pull',
    request: {
      id: 'request-1',
      key: 'K',
      keyFingerprint: 'f',
      tokenId: 't',
      tokenName: 'n/t',
      labels: {},
      droppedLabels: [],
      claimed: { labels: {} },
      requestedAtMs: 1,
    },
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

/** Declares a policy of one rule that approves, as the approver would. */
export async function declarePolicy(
  approverLog: EventLog,
  policy: { name: string; when: string; generation?: number },
): Promise<void> {
  const { name, when, generation = 1 } = policy;
  const record = await approverLog.read({ kind: 'policy', id: name });
  const rules = [{ name: 'r', when, effect: 'Approve' as const }];
  const section = { name, uid: name, generation, rules, withdrawn: false };
  await approverLog.append([draft(policyDeclared, record, { reason: 'R', message: 'm', section })], {
    correlation: 'test',
  });
}

/** Writes that this cluster asked to join, as the registrar would. */
export async function requestAs(
  registrarLog: EventLog,
  id: string,
  requestedAtMs: number,
  overrides: Partial<Identity['request']> = {},
): Promise<void> {
  const request = {
    id: `R-${id}`,
    key: `K-${id}`,
    keyFingerprint: 'f',
    tokenId: 'none',
    tokenName: 'n/t',
    claimed: {},
    requestedAtMs,
    ...overrides,
  };
  const section = identitySchema.parse({ state: 'requested', clusterId: id, clusterName: id, request });
  const place = { aggregate: { kind: 'cluster', id }, head: undefined } as const;
  await registrarLog.append([draft(requested, place, { reason: 'R', message: 'm', section })], {
    correlation: id,
  });
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
