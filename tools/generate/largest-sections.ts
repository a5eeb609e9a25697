import { type EventDefinition, mostSpentInEvent } from '@rollcall/shared/events';

import { longestPerson, mostConfirmed, mostListed } from '../../services/approver/bulk/bulk-change.ts';

/** Sections at their worst, by the bounds of what agents, objects and deciders may write; the tests of these bounds lie beside them. */

const text = (length: number) => 'x'.repeat(length);
/** A control character takes six bytes in JSON. */
const foreign = (length: number) => '\u0001'.repeat(length);
/** The most bytes of one that is printed. */
const shown = (length: number) => '\uFFFD'.repeat(length);
const many = <Value>(count: number, make: (at: number) => Value): Value[] =>
  Array.from({ length: count }, (_, at) => make(at));
const atMs = 1_700_000_000_000;
const nkey = text(56);
const id = text(63);
const hex = text(64);

/** 16 KiB in JSON, which is what an agent may say; and 64 of the largest, which is what a person may write. */
const saidLabels = Object.fromEntries(many(64, (at) => [`${at}`.padEnd(190, 'k'), text(61)]));
const writtenLabels = Object.fromEntries(many(64, (at) => [`${at}`.padEnd(316, 'k'), text(63)]));
const by = { policy: text(253), generation: 1e9, rule: text(63), person: text(512), service: text(16) };
const simulated = { run: text(64), isShown: true };

const memberKey = {
  kid: foreign(128),
  kty: 'RSA',
  n: text(1400),
  e: text(16),
  crv: text(16),
  x: text(128),
  y: text(128),
};
const issuer = { issuer: foreign(256), subject: text(212), keys: many(8, () => memberKey) };
const claimed = {
  ...Object.fromEntries(
    ['kubernetesVersion', 'platform', 'provider', 'region', 'agentVersion'].map((name) => [
      name,
      foreign(64),
    ]),
  ),
  apiServerURL: foreign(256),
  nodesTotal: 1e9,
};
const request = {
  id: text(64),
  key: nkey,
  keyFingerprint: text(19),
  tokenId: hex,
  tokenName: text(317),
  // What the token gives itself, and what it lets the agent have.
  labels: { ...writtenLabels, ...saidLabels },
  droppedLabels: many(50, () => foreign(80)),
  clusterSet: id,
  claimed: { ...claimed, labels: saidLabels },
  member: { sameMember: true, shown: issuer, problem: text(256) },
  memberBeforeRestore: { issuedAtMs: atMs, endsAtMs: atMs },
  requestedAtMs: atMs,
  signedAtMs: atMs,
  rotation: {
    from: nkey,
    proof: { signed: foreign(2048), signatures: { [nkey]: text(86), [`${nkey}2`]: text(86) } },
  },
};
const identity = {
  state: 'admitted',
  clusterId: id,
  clientId: shown(253),
  clusterName: id,
  clusterType: 'Standard',
  mode: 'Pull',
  request,
  admittedKey: nkey,
  admittedAtMs: atMs,
  rotatedFrom: nkey,
  rotatedAtMs: atMs,
  member: issuer,
  pinnedAtMs: many(4, () => atMs),
  refusal: { code: text(32), message: text(1024) },
  simulated,
  leave: {
    key: nkey,
    signedAtMs: atMs,
    cleanedAtMs: atMs,
    proof: { signed: foreign(2048), signatures: { [nkey]: text(86) } },
  },
  flood: { key: nkey, atMs, requests: 1e9, seconds: 1e9 },
};
/** Of a refusal only who asked, and by which token. */
const refusedIdentity = {
  ...identity,
  request: {
    ...request,
    labels: writtenLabels,
    droppedLabels: [],
    claimed: { ...claimed, labels: {} },
    member: undefined,
    rotation: undefined,
  },
  member: undefined,
};

/** 24 a day for a week, and the older ones that stay; people may add as many again. */
const revokedKeys = many(2 * 7 * 24 + 2 * 64, () => ({
  key: nkey,
  atMs,
  left: true,
  rotated: true,
  byAgent: true,
}));
const decision = {
  verdict: 'predefined',
  requestId: text(64),
  key: nkey,
  approvedKey: nkey,
  retiringKey: nkey,
  withdrawnKey: nkey,
  clusterName: id,
  namespace: id,
  labels: { ...writtenLabels, ...saidLabels },
  clusterSet: id,
  access: 'Namespace',
  memberAccess: 'Denied',
  namespacePolicy: 'DeleteWhenEmpty',
  unschedulable: true,
  taints: many(32, () => ({ key: text(316), value: id, effect: text(32) })),
  heartbeat: { intervalSeconds: 3600, graceSeconds: 86_400 },
  by,
  simulated,
  reason: text(64),
  message: text(1024),
  decidedAtMs: atMs,
  actedOn: text(71),
  operations: many(64, () => text(128)),
  rotationRequest: { key: nkey, atMs },
  forced: true,
  leavingUid: text(36),
  leaveUntilMs: atMs,
  predefined: {
    clientId: foreign(253),
    clusterType: 'Standard',
    mode: 'Pull',
    kubeconfig: { secret: text(253), sinceMs: atMs },
  },
  revokedKeys,
};

const spentWords = many(mostSpentInEvent, () => text(36 + 1 + 128));
const object = { namespace: id, name: text(253), uid: text(36) };
const tokenDeclaration = {
  ...object,
  publicKey: nkey,
  publicationId: hex,
  declaredAtMs: atMs,
  expiresAtMs: atMs,
  uses: 1e9,
  clusterName: id,
  clientId: foreign(253),
  labels: writtenLabels,
  allowLabels: many(32, () => text(316)),
  clusterSet: id,
  description: foreign(256),
  problem: { reason: text(64), message: text(1024) },
  voidSinceEpoch: 1e9,
  withdrawn: true,
};
const warning = { rule: id, reason: text(64), message: text(1024) };
const policyDeclaration = {
  ...object,
  generation: 1e9,
  rules: many(32, () => ({ name: id, when: text(3950), effect: 'Approve' })),
  problem: { generation: 1e9, rule: id, line: 1e3, column: 1e3, message: text(4096) },
  warnings: many(64, () => warning),
  withdrawn: true,
};
/** Of the person as much as takes so many bytes, whatever characters the name has. */
const bulkOperation = {
  clusterId: id,
  clusterName: id,
  digest: text(16),
  type: text(16),
  person: text(longestPerson),
};
const operations = {
  recent: many(60, () => ({ atMs, count: 1e6 })),
  held: { id: text(12), limit: 1e6, operations: many(mostListed, () => bulkOperation) },
  confirmed: { atMs, operations: many(mostConfirmed, () => bulkOperation) },
};
const liveness = {
  state: 'unreachable',
  key: nkey,
  cause: text(32),
  joinedAtMs: atMs,
  sinceMs: atMs,
  lastHeartbeatAtMs: atMs,
  lossesAtMs: many(100, () => atMs),
  keySharedSinceMs: atMs,
  flood: { atMs, heartbeats: 1e9, seconds: 1e9 },
};
const error = { code: text(32), message: text(1024) };
const access = {
  state: 'deprovisioned',
  namespace: id,
  requestId: text(64),
  serviceAccount: id,
  roleBinding: id,
  uids: { serviceAccount: text(36), roleBinding: text(36) },
  atMs,
  verdict: text(16),
  namespaceStays: text(1024),
  error,
  tokens: { key: nkey, sinceMs: atMs },
};
const publication = { state: 'published', publicKey: nkey, secretUid: text(36), atMs, error };
const name = { name: id, clusterId: id, free: true };

/** By writer and kind: all types of both have the same section. */
const sections: Readonly<Record<string, object>> = {
  'registrar cluster': identity,
  'registrar token': {
    used: 1e9,
    lastUsedBy: id,
    lastUsedAtMs: atMs,
    day: { sinceMs: atMs, used: 1e9 },
    usedBy: many(32, () => id),
  },
  'registrar key': { key: nkey, clusterId: id },
  'registrar name': name,
  'approver cluster': decision,
  'approver name': name,
  'approver token': tokenDeclaration,
  'approver policy': policyDeclaration,
  'approver set': { ...object, generation: 1e9, selectorType: 'LabelSelector', withdrawn: true },
  'rbac-provisioner cluster': access,
  'rbac-provisioner token': publication,
  'heartbeat cluster': liveness,
  'agent-host cluster': { state: 'installed', sinceMs: atMs, atMs },
  'account-controller cluster': { key: nkey, atMs },
};
/** These have a section of their own. */
const sectionsOfTypes: Readonly<Record<string, object>> = {
  'cluster.refused': refusedIdentity,
  'hub.counted': { clusterId: id, requestId: text(64) },
  'hub.bulk-counted': operations,
  'hub.bulk-held': operations,
  'hub.bulk-confirmed': operations,
  'hub.outage': { silent: 1e9, known: 1e9, sinceMs: atMs, group: { kind: 'server', name: text(64) } },
  'hub.outage-ended': { silent: 1e9, known: 1e9, sinceMs: atMs, group: { kind: 'server', name: text(64) } },
  'hub.interval-changed': {
    multiplier: 1e3,
    before: 1e3,
    nominalPerSecond: 1e9,
    ceilingPerSecond: 1e9,
    sinceMs: atMs,
    clusters: 1e9,
    returnWithinMs: atMs,
    returnBeforeMs: atMs,
  },
  'hub.trust-announced': trust(),
  'hub.trust-changed': trust(),
  'hub.admission-changed': {
    inPlace: true,
    version: hex,
    kindUid: text(36),
    // The longest name is that of a token, the longest word one of a cluster.
    unproven: many(500, () => ({ object: text(30 + 63 + 1 + 253), word: text(71) })),
  },
  'hub.archived': {
    file: text(255),
    digest: `sha256:${text(64)}`,
    events: 1e9,
    throughSequence: 1e9,
    total: 1e9,
    ofEpoch: 1e9,
    isDone: false,
    operator: text(300),
  },
  // Uid of the object, and id of the operation.
  'hub.spent-noted': { epoch: 1e9, spent: spentWords },
  'hub.restore-reviewed': { epoch: 1e9, takenBack: 1e9, held: 1e9, spent: spentWords, spentParts: 1e9 },
  'hub.restored': { epoch: 1e9, throughSequence: 1e9, backupTakenAtMs: atMs },
};

function trust(): object {
  const keys = Object.fromEntries(['token', 'returning', 'waiting', 'member'].map((role) => [role, nkey]));
  return {
    agentSigners: many(2, () => ({ keys, sinceMs: atMs })),
    operatorKey: nkey,
    replyKey: nkey,
    cas: many(8, () => text(71)),
    addresses: many(32, () => text(253)),
  };
}

/** @throws Error for a type of which nobody has said how large it gets */
export function largestSection({ kind, type, writer }: EventDefinition): object {
  const section = sectionsOfTypes[`${kind}.${type}`] ?? sections[`${writer} ${kind}`];
  if (!section) throw new Error(`how large ${kind}.${type} gets is not said`);
  return section;
}
