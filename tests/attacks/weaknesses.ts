import { ofServices } from './weaknesses.services.ts';

/** One defence taken away by one change of one line, and the attack that must then succeed. */
export interface Weakness {
  /** The file of the attacks, without its ending. */
  readonly group: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** Folder of the tests: of unit tests, where a pure decision is the defence. */
  readonly folder:
    | 'agent/tests'
    | 'cli/tests'
    | 'services/approver/admission'
    | 'services/approver/bulk'
    | 'services/approver/declarations'
    | 'services/approver/people'
    | 'services/approver/policy'
    | 'services/approver/requests'
    | 'libs/shared/rights'
    | 'services/approver/tests'
    | 'services/heartbeat/tests'
    | 'services/projector/tests'
    | 'services/rbac-provisioner/tests'
    | 'services/registrar/join'
    | 'services/account-controller/tests'
    | 'tests/attacks'
    | 'tests/e2e'
    | 'tests/admission'
    | 'tests/rights';
  /** How the full name of the test begins, as in `vitest -t`: `describe > test`. */
  readonly test: string;
}

const roles = 'libs/shared/rights/nats-roles.ts';
const inAttacks = { folder: 'tests/attacks' } as const;
const inAdmission = { folder: 'tests/admission' } as const;

/** A service that may write what the approver writes. */
function mayApprove(service: string, list: string, test: string): Weakness {
  const group = `stolen-${service}`;
  return { ...inAttacks, group, file: roles, from: list, to: `...mayWrite('approver'), ${list}`, test };
}

/** One for each file of attacks; `weaken.ts` shows that each turns it red, `weaknesses.test.ts` that each can still be made. */
export const weaknesses: readonly Weakness[] = [
  {
    folder: 'tests/rights',
    group: 'replies',
    file: roles,
    from: "account: 'OPS',\n    description: 'people who watch: hear what happens, and read the history in pages that a service gives',\n    publish: [",
    to: "account: 'HUB',\n    description: 'people who watch',\n    publish: ['$JS.API.DIRECT.GET.EVENTS', ",
    test: 'whatever reply it names, nothing comes of what it may publish but an answer to itself > ops',
  },
  {
    folder: 'services/account-controller/tests',
    group: 'revocation',
    file: 'services/account-controller/revocation-list.ts',
    from: 'Number(firm.has(b)) - Number(firm.has(a)) || bMs - aMs',
    to: 'bMs - aMs',
    test: 'a key that was taken back stays out when agents have replaced more keys since than the list takes',
  },
  {
    folder: 'services/account-controller/tests',
    group: 'witness',
    file: 'libs/shared/service/watch-history.ts',
    from: 'if (why !== undefined) return { state, why };',
    to: "if (why === '') return { state, why };",
    test: 'an event that Kubernetes shows and the history does not have becomes the witness',
  },
  {
    ...inAttacks,
    group: 'tokens',
    file: 'services/registrar/callout/callout-verdict.ts',
    from: "if (!isProven(claim.user, claim.pass ?? ''))",
    to: "if (claim.user === '')",
    test: 'whom the hub does not let in to ask > a second proof of another nonce',
  },
  {
    ...inAttacks,
    group: 'restored-hub',
    file: 'services/registrar/members/member-credentials.ts',
    from: 'claims.sub !== about.agentKey || ',
    to: '',
    test: 'credentials of before the restore that open nothing > those of another key',
  },
  {
    ...inAttacks,
    group: 'restored-words',
    file: 'services/approver/restore/restored-projection.ts',
    from: 'return [...(isApproval ? [decided.digest] : []), ',
    to: 'return [',
    test: 'an approval of before lets in nobody who was revoked since',
  },
  {
    ...inAttacks,
    group: 'token-races',
    file: 'libs/shared/bus/event-log.ts',
    from: "all.set('Nats-Expected-Last-Subject-Sequence', String(event.expectedSequence));",
    to: 'return all;',
    test: 'two agents redeem one single-use token at once, hundreds of times: one gets in, each time',
  },
  {
    ...inAttacks,
    group: 'token-races',
    file: 'services/registrar/members/key-holder.ts',
    from: 'if (holder === undefined || holder === clusterId) return undefined;',
    to: "if (holder !== '') return undefined;",
    test: 'one key that asks for two clusters at once, of two replicas, is let in for one, and spends one token',
  },
  {
    ...inAttacks,
    group: 'policy-bypass',
    file: 'services/approver/requests/judgement.ts',
    from: '  policyFailed,\n  ruleSays',
    to: '  ruleSays',
    test: 'whatever is not a clear yes is held, with the reason > a yes beside an error in another policy',
  },
  {
    ...inAttacks,
    group: 'policy-bypass',
    file: 'services/approver/requests/gather-judgement.ts',
    from: 'const freshForMs = 20;',
    to: 'const freshForMs = Infinity;',
    test: 'what stood when it was read and stands no more when it is decided > a policy that is deleted while it is evaluated approves nobody',
  },
  {
    ...inAttacks,
    group: 'replay',
    file: 'libs/shared/protocol/refuse-clock-skew.ts',
    from: 'longestSkewMs = 300_000;',
    to: 'longestSkewMs = Infinity;',
    test: 'a request to join > signed an hour old is refused, and the refusal says the time of the hub',
  },
  {
    ...inAttacks,
    group: 'secrets',
    file: 'libs/shared/trust/token.ts',
    from: '(${text.trim().length} characters)',
    to: '(${text.trim()})',
    test: 'no secret is found in > the command line of any process, what the agent says, errors, and what commands print',
  },
  {
    ...inAttacks,
    group: 'takeover',
    file: 'services/approver/requests/judgement.ts',
    from: '  keyChanged,\n  registeredAfterBackup,',
    to: '  registeredAfterBackup,',
    test: 'a known id, its name and a valid token, with another key: held with both keys, and the owner is untouched',
  },
  {
    ...inAttacks,
    group: 'exhaustion',
    file: 'cli/up/state/hub-state.ts',
    from: "const nothing = { deny: ['>'] };",
    to: 'const nothing = {};',
    test: 'who has nothing starts as a user that may do nothing, over the one kind of listener that is on',
  },
  {
    ...inAttacks,
    group: 'exhaustion-cut',
    file: 'services/registrar/limits/find-request-flood.ts',
    from: 'if (excess.requests < floodFrom ||',
    to: 'if (excess.requests > 0 ||',
    test: 'garbage: the flooder is cut, its token is kept out at its address only, and everybody else joins',
  },
  {
    folder: 'agent/tests',
    group: 'told-places',
    file: 'libs/shared/protocol/reply.ts',
    from: '!isSignedMessage(link) || !isLinkOfCa(link, caPem)',
    to: '!isSignedMessage(link)',
    test: 'no answer makes another reply key the hub’s',
  },
  {
    ...inAttacks,
    group: 'first-contact',
    file: 'agent/hub/hub-trust.ts',
    from: 'certificate.ca && pins.has(pinOf(certificate))',
    to: 'certificate.ca && pins.size > 0',
    test: 'a hub with another CA is refused before anything is asked',
  },
  {
    ...inAttacks,
    group: 'injection',
    file: 'libs/shared/resources/label-syntax.ts',
    from: 'if (isReservedLabel(key)) return',
    to: 'if (key === value) return',
    test: 'labels that a selector, the API server or we ourselves would read otherwise are left out, and named',
  },
  {
    ...inAttacks,
    group: 'injection-text',
    file: 'libs/shared/hub/register-command.ts',
    from: "return plain.test(text) ? text : `'${text.replaceAll(\"'\", \"'\\\\''\")}'`;",
    to: "return plain.test(text) ? text : `'${text}'`;",
    test: 'what is pasted',
  },
  {
    ...inAttacks,
    group: 'kubernetes-escalation',
    file: 'deploy/rbac/agent-host.yaml',
    from: `roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: rollcall-agent-host }
subjects:
  - { kind: ServiceAccount, name: rollcall-agent-host, namespace: rollcall-system }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: rollcall-agent-host, namespace: rollcall-join }`,
    to: `roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: rollcall-agent-host }
subjects:
  - { kind: ServiceAccount, name: rollcall-agent-host, namespace: rollcall-system }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: quoted, namespace: rollcall-kubeconfigs }
rules: [{ apiGroups: [''], resources: [secrets], verbs: [patch] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: quoted, namespace: rollcall-kubeconfigs }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: quoted }
subjects:
  - { kind: ServiceAccount, name: rollcall-rbac-provisioner, namespace: rollcall-system }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: rollcall-agent-host, namespace: rollcall-join }`,
    test: 'a stolen provisioner > has it quoted in the refusal of a patch: refused',
  },
  {
    ...inAttacks,
    group: 'kubernetes-escalation',
    file: 'deploy/admission/provisioner.yaml',
    from: "subject.?namespace.orValue('') == request.namespace)",
    to: "subject.?namespace.orValue('') != '')",
    test: 'a stolen provisioner > lets one member read the namespace',
  },
  {
    ...inAttacks,
    group: 'kubernetes-escalation',
    file: 'deploy/admission/provisioner.yaml',
    from: "subject.name == 'rollcall-rbac-provisioner' && ",
    to: '',
    test: 'a stolen provisioner > gives the look to another service',
  },
  mayApprove(
    'registrar',
    "...mayWrite('registrar'),",
    'with the registrar’s identity nobody can > approve a cluster',
  ),
  mayApprove(
    'provisioner',
    "...mayWrite('rbac-provisioner'),",
    'with the provisioner’s identity nobody can > approve a cluster',
  ),
  mayApprove(
    'heartbeat',
    "...mayWrite('heartbeat'),",
    'with the heartbeat’s identity nobody can > approve a cluster',
  ),
  mayApprove(
    'projector',
    "...mayConsume('projector'),",
    'with the projector’s identity nobody can > approve a cluster',
  ),
  mayApprove(
    'account-controller',
    "...mayWrite('account-controller'),",
    'with the account-controller’s user in HUB nobody can > approve a cluster',
  ),
  {
    ...inAttacks,
    group: 'stolen-approver',
    file: roles,
    from: "...mayWrite('approver'),",
    to: "...mayWrite('approver'), ...mayWrite('registrar'),",
    test: 'with the approver’s identity nobody can > admit a key',
  },
  {
    ...inAttacks,
    group: 'stolen-ops',
    file: roles,
    from: "'rollcall.liveness.clusters'],\n    subscribe: ['_INBOX_ops.>'",
    to: "'rollcall.liveness.clusters', 'rollcall.events.>'],\n    subscribe: ['_INBOX_ops.>'",
    test: 'with the user of people nobody can > approve a cluster',
  },
  {
    ...inAttacks,
    group: 'subjects',
    file: roles,
    from: "'rollcall.heartbeat.{{name()}}',",
    to: "'rollcall.heartbeat.*',",
    test: 'a member can not > send heartbeats for another cluster',
  },
  {
    ...inAttacks,
    group: 'tls',
    file: 'agent/hub/secure-connection.ts',
    from: "oldestTls = 'TLSv1.3'",
    to: "oldestTls = 'TLSv1.2'",
    test: 'an agent with a token meets > TLSv1.2 at most',
  },
  {
    ...inAttacks,
    group: 'rotation',
    file: 'services/registrar/members/key-rotation.ts',
    from: ' || !isSignedBy(proof, newKey))',
    to: ')',
    test: 'a rotation signed by the old key only',
  },
  {
    ...inAdmission,
    group: 'authors',
    file: 'deploy/admission/authors.yaml',
    from: "- expression: '!variables.changed || !variables.isProjector'",
    to: "- expression: 'true'",
    test: 'what the projector writes has nobody’s name on it',
  },
  {
    ...inAdmission,
    group: 'authors',
    file: 'deploy/admission/authors.yaml',
    from: "'!variables.changed || variables.isProjector || variables.new == request.userInfo.username'",
    to: "'true'",
    test: 'below Kubernetes 1.36 no name is filled in, and nobody writes another name',
  },
  {
    ...inAdmission,
    group: 'bypass',
    file: 'deploy/admission/projection.yaml',
    from: '!variables.isProjected || object.metadata.?ownerReferences.orValue([]) ==',
    to: 'true || object.metadata.?ownerReferences.orValue([]) ==',
    test: 'what only the hub writes > an owner that is not there would have the garbage collector delete it',
  },
  {
    ...inAdmission,
    group: 'kinds',
    file: 'deploy/crds/managedclusters.yaml',
    from: `description: The newest event that this status shows.
                  x-kubernetes-validations:
                    - rule: self.epoch > oldSelf.epoch || (self.epoch == oldSelf.epoch && self.sequence >= oldSelf.sequence)`,
    to: `description: The newest event that this status shows.
                  x-kubernetes-validations:
                    - rule: 'true'`,
    test: 'order > observed never goes back',
  },
  {
    ...inAdmission,
    group: 'kubeconfig',
    file: 'deploy/admission/kubeconfig.yaml',
    from: "authorizer.group('').resource('secrets').namespace('rollcall-kubeconfigs').name(variables.secret).check('get').allowed()",
    to: "variables.secret != ''",
    test: 'a kubeconfig Secret of a cluster > is named by nobody who may not read that very Secret',
  },
  {
    ...inAdmission,
    group: 'people',
    file: 'deploy/admission/projection.yaml',
    from: "- expression: request.?subResource.orValue('') == ''",
    to: "- expression: 'true'",
    test: 'what only the hub writes > a person cannot write status, finalizer or our labels',
  },
  {
    ...inAdmission,
    group: 'services',
    file: 'deploy/admission/provisioner.yaml',
    from: "!request.name.matches('^(default$|kube-|rollcall-)')",
    to: 'true',
    test: 'the provisioner > can make namespaces only with the label, and none with a reserved name',
  },
  {
    folder: 'services/approver/tests',
    group: 'admission',
    file: 'libs/shared/admission/admission-differences.ts',
    from: '`${name} ${metadata?.uid} ${metadata?.generation}`',
    to: 'name',
    test: 'a decision that is written while it audits and does not deny is never acted on',
  },
  {
    folder: 'services/approver/tests',
    group: 'admission',
    file: 'services/approver/declarations/object-controller.ts',
    from: 'if (declared.loosens(record, object)) unproven.replaced(name, words);',
    to: 'if (false as boolean) unproven.replaced(name, words);',
    test: 'a policy that was emptied, and is deleted once the admission policies hold keeps the rules that are in force',
  },
  {
    folder: 'services/approver/tests',
    group: 'admission',
    file: 'services/approver/declarations/declared-kinds.ts',
    from: 'if (object.spec.clusterSet === undefined && !isListed(object, options.rules)) return true;',
    to: '',
    test: 'tokens of a tenant, where tokens do not count, keep nobody from being heard',
  },
  {
    folder: 'services/approver/tests',
    group: 'approver',
    file: 'services/approver/bulk/append-with-count.ts',
    from: 'if (!isBatchRefused(error)) throw error;',
    to: 'if (error) throw error;',
    test: 'whoever keeps all batches of the stream open keeps no member in that people put out',
  },
  {
    folder: 'services/approver/tests',
    group: 'approver',
    file: 'services/approver/declarations/token-declaration.ts',
    from: 'return declaration.publicKey ?? publication?.publicKey;',
    to: 'return publication?.publicKey;',
    test: 'a stolen provisioner makes no key good but the first of a token that the hub was asked to make',
  },
  {
    ...inAdmission,
    group: 'people',
    file: 'deploy/admission/join.yaml',
    from: "object.metadata.?annotations[?'rollcall.dev/epoch'].orValue('') !=",
    to: "'' != '' && '' !=",
    test: 'sets > a token that gives a set needs join on it, at every change',
  },
  {
    ...inAdmission,
    group: 'weakened',
    file: 'libs/shared/admission/admission-differences.ts',
    from: "if (found.failurePolicy === 'Ignore')",
    to: "if (found.failurePolicy === 'Never')",
    test: 'rollcall-accept: whatever weakens it is named',
  },
  {
    ...inAdmission,
    group: 'each-weakened',
    file: 'libs/shared/admission/admission-differences.ts',
    from: "if (found.failurePolicy === 'Ignore')",
    to: "if (found.failurePolicy === 'Never')",
    test: 'rollcall-projection: whatever weakens it is named',
  },
  {
    folder: 'cli/tests',
    group: 'people',
    file: 'cli/request-of-name.ts',
    from: 'throw severalMeant([holder, byId], word, command);',
    to: 'return byId;',
    test: 'the name of who waits is not the id of a stranger',
  },
  {
    folder: 'cli/tests',
    group: 'usage',
    file: 'libs/shared/config/credential-life.ts',
    from: '(lifeMs) => lifeMs <= longestCredentialLifeMs,',
    to: '(lifeMs) => lifeMs >= 0,',
    test: 'no credential outlives its revocation: registrar does not start with --member-life',
  },
  {
    folder: 'tests/e2e',
    group: 'trust',
    file: 'cli/trust/rotate.ts',
    from: "if (!isLifeKnown && !isNow && !isFinishing) throw new RollcallError('ROTATION_NOT_DUE', lifeUnknown);",
    to: '',
    test: 'a life that was lowered before keys roll over keeps the last step waiting',
  },
  {
    folder: 'cli/tests',
    group: 'cluster-operations',
    file: 'cli/decide/refuse-changed.ts',
    from: '({ value, found }) => value !== found',
    to: '({ name }) => name === undefined',
    test: 'a decision that admission of others turns is told',
  },
  {
    folder: 'cli/tests',
    group: 'cluster-operations',
    file: 'cli/decide/cluster-operation.ts',
    from: 'refuseChanged({ id, verb, keyFingerprint }, stored.spec.operation);',
    to: '',
    test: 'an operation that admission of others turns is told',
  },
  {
    folder: 'cli/tests',
    group: 'installed-keys',
    file: 'cli/install/hub/hub-keys.ts',
    from: 'upgradeHubState(stateDir, nowMs, { withWebSocket });',
    to: '',
    test: 'a hub in a cluster of before gets an account for each role',
  },
  {
    folder: 'cli/tests',
    group: 'installed-keys',
    file: 'deploy/hub/services.yaml',
    from: 'strategy: { type: RollingUpdate, rollingUpdate: { maxSurge: 0, maxUnavailable: 100% } }',
    to: '',
    test: 'no two versions of a service that would write over each other run side by side',
  },
  {
    folder: 'services/approver/declarations',
    group: 'object-controller',
    file: 'services/approver/declarations/object-controller.ts',
    from: '{ gather, decide: (checked) => checked.drafts }',
    to: '{ gather, decide: ({ why, record }) => (why ? [] : declared.decide(record, objectsOf(id))) }',
    test: 'a policy that is changed while the policies are down, just before the look',
  },
  {
    folder: 'services/approver/declarations',
    group: 'object-controller',
    file: 'services/approver/declarations/object-controller.ts',
    from: 'drafts.length === 0 || isFree ? undefined : await gate.whyHeld()',
    to: 'await Promise.resolve(undefined)',
    test: 'a policy that is deleted and made again while the policies are down, just before the append',
  },
  {
    folder: 'services/approver/people',
    group: 'user-changes',
    file: 'services/approver/people/act-on-changes.ts',
    from: 'const isWritten = isChange && (await write(',
    to: 'const isWritten = await (write(',
    test: 'who is let in again while the policies are down stays out',
  },
  {
    folder: 'services/approver/people',
    group: 'user-changes',
    file: 'services/approver/people/user-changes.ts',
    from: 'const unprovenWords = new Set(unproven.of(clusterName(object.metadata.name)));',
    to: 'const unprovenWords = unproven.of(clusterName(object.metadata.name));',
    test: 'a word that does not count is not acted on while a version without it comes in',
  },
  {
    ...inAdmission,
    group: 'weakened',
    file: 'libs/shared/admission/admission-differences.ts',
    from: 'const shippedAndFound = [...admission, ...attribution]',
    to: 'const shippedAndFound = [...admission]',
    test: 'rollcall-attribution-decision: whoever changes it, for a moment too, makes another version',
  },
  {
    ...inAdmission,
    group: 'weakened',
    file: 'services/approver/admission/probe.ts',
    from: '  resources.mutatingAdmissionPolicyBindings,\n];',
    to: '];',
    test: 'by watch alone it is noticed that > MutatingAdmissionPolicyBinding rollcall-attribution-operation',
  },
  {
    ...inAdmission,
    group: 'weakened',
    file: 'services/approver/admission/probe.ts',
    from: '  resources.validatingAdmissionPolicyBindings,\n',
    to: '',
    test: 'by watch alone it is noticed that > ValidatingAdmissionPolicyBinding rollcall-operation',
  },
  {
    ...inAdmission,
    group: 'weakened',
    file: 'libs/shared/admission/foreign-mutators.ts',
    from: '.filter(({ spec }) => spec?.matchConstraints?.resourceRules?.some(isAboutUs))',
    to: '.filter(() => false)',
    test: 'a mutating policy of others on our kinds is listed',
  },
  {
    folder: 'services/approver/admission',
    group: 'unattributed-changes',
    file: 'services/approver/admission/unattributed-changes.ts',
    from: 'said.version === version && said.unlisted === undefined',
    to: 'said.version === version',
    test: 'a list that is cut proves that all else was written later: false',
  },
  {
    folder: 'services/approver/tests',
    group: 'admission',
    file: 'services/approver/admission/while-admission-in-place.ts',
    from: 'return provenList(after, version) ?? unproven;',
    to: 'return said.unproven;',
    test: 'however much is written meanwhile, who has the right is heard afterwards, and nothing of it counts',
  },
  {
    ...inAttacks,
    group: 'broken-lines',
    file: 'libs/shared/bus/nats-transport.ts',
    from: '  splitAsTheServer(connection as unknown as NatsConnectionImpl);\n',
    to: '',
    test: 'the heartbeat service hears others after such a heartbeat',
  },
  ...ofServices,
];
