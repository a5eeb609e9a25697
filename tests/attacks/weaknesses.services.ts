import type { Weakness } from './weaknesses.ts';

const inHeartbeat = { folder: 'services/heartbeat/tests' } as const;
const inJoin = { folder: 'services/registrar/join' } as const;
const inProvisioner = { folder: 'services/rbac-provisioner/tests' } as const;
const mayPurge = {
  file: 'libs/shared/rights/roles.ts',
  from: "...mayWrite('approver'),",
  to: "`${api}.STREAM.PURGE.EVENTS`, ...mayWrite('approver'),",
} as const;

/** Defences that the tests of services, of the CLI and of whole hubs show. */
export const ofServices: readonly Weakness[] = [
  {
    folder: 'libs/shared/rights',
    group: 'roles',
    ...mayPurge,
    test: 'approver changes no stream and makes no consumer',
  },
  {
    folder: 'tests/attacks',
    group: 'stolen-approver',
    ...mayPurge,
    test: 'with the approver’s identity nobody can > purge what it decided, as $JS.hub.API',
  },
  {
    ...inJoin,
    group: 'join-request',
    file: 'services/registrar/join/join-request.ts',
    from: 'if (leavingKeyOf(context.cluster) !== undefined)',
    to: "if (leavingKeyOf(context.cluster) === '')",
    test: 'while a cluster leaves, a stranger with a valid token does not take the place of its leaving',
  },
  {
    ...inJoin,
    group: 'join-request',
    file: 'services/registrar/members/key-holder.ts',
    from: 'if (isOwner && !isOwners) return undefined;',
    to: 'if (isOwner && isOwners) return undefined;',
    test: 'a reinstalled agent that proves its member takes the place of a stranger',
  },
  {
    ...inJoin,
    group: 'member-version',
    file: 'services/registrar/join/member-version.ts',
    from: 'if (!found)',
    to: "if (!found) return undefined;\n  if (kubernetesVersion === '')",
    test: '🙂🙂 → MEMBER_VERSION_UNREADABLE',
  },
  {
    ...inHeartbeat,
    group: 'heartbeat',
    file: 'services/heartbeat/receive/receive-heartbeats.ts',
    from: 'if (isMalformed || size > heartbeatSizeBytes) {',
    to: 'if (size > heartbeatSizeBytes) {',
    test: 'a flood of garbage is one',
  },
  {
    ...inHeartbeat,
    group: 'partitions',
    file: 'services/heartbeat/receive/receive-heartbeats.ts',
    from: 'foreign.count(subject, start, 1);',
    to: '',
    test: 'who floods with heartbeats where another part of the fleet is heard is told of',
  },
  {
    ...inProvisioner,
    group: 'provision',
    file: 'services/rbac-provisioner/access/provision.ts',
    from: 'const isAsMade = created.has(uid) && ',
    to: 'const isAsMade = ',
    test: 'an account that somebody made beforehand, with our labels, is never bound',
  },
  {
    ...inProvisioner,
    group: 'lost-objects',
    file: 'services/rbac-provisioner/access/present-objects.ts',
    from: 'else if (accounts.delete(namespace)) gone(event, namespace);',
    to: 'else accounts.delete(namespace);',
    test: 'a ServiceAccount that somebody deletes is made again',
  },
  {
    ...inProvisioner,
    group: 'lost-objects',
    file: 'services/rbac-provisioner/access/present-objects.ts',
    from: 'else if (bindings.delete(namespace)) gone(event, namespace);',
    to: 'else bindings.delete(namespace);',
    test: 'a RoleBinding that somebody deletes is made again',
  },
  {
    ...inProvisioner,
    group: 'lost-objects',
    file: 'services/rbac-provisioner/access/member-objects.ts',
    from: ' && isDeepStrictEqual(subjects, wanted.subjects);',
    to: ';',
    test: 'a binding that somebody widens',
  },
  {
    ...inProvisioner,
    group: 'publish-token',
    file: 'services/rbac-provisioner/tokens/watch-expiries.ts',
    from: '} else await options.lookForSecret(id);',
    to: '}',
    test: 'a Secret that somebody deletes is told of once',
  },
  {
    folder: 'services/projector/tests',
    group: 'projector',
    file: 'services/projector/apply/project-declared.ts',
    from: '(own && (await writer.create(view.sets, own)))',
    to: '(own && undefined)',
    test: 'the sets that every hub has are made again',
  },
  {
    folder: 'services/account-controller/tests',
    group: 'revocation',
    file: 'services/account-controller/revocation-list.ts',
    from: 'newestAtMs.set(key, atMs);\n    firm.add(key);',
    to: 'firm.add(key);',
    test: 'a history that is gone takes nobody off the list',
  },
  {
    folder: 'tests/e2e',
    group: 'lost-history',
    file: 'libs/shared/bus/history/history-witness.ts',
    from: "typeof text === 'string' ? parseWitness(text) : undefined",
    to: 'undefined',
    test: 'the stream is deleted: nobody gets in',
  },
  {
    folder: 'tests/admission',
    group: 'weakened',
    file: 'libs/shared/admission/foreign-mutators.ts',
    from: '.filter((each) => each.webhooks?.some(({ rules = [] }) => rules.some(isAboutUs)))',
    to: '.filter(() => false)',
    test: 'mutating admission of others on our kinds is listed',
  },
];
