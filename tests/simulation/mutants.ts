import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

export interface Mutant {
  /** Path in the repository. */
  readonly file: string;
  readonly find: string;
  readonly put: string;
  /** The first of the seeds among which the simulation must find it; 1 if it is found soon from there. */
  readonly from: number;
  readonly seeds: number;
}

/** Defences of the services, each taken away in one place. A simulation that does not notice it proves nothing. */
export const mutants = {
  'append-without-expectation': {
    file: 'tests/simulation/event-stream.ts',
    find: 'if (this.#lastUnder(filter) !== expectedSequence) return false;',
    put: 'void [filter, expectedSequence];',
    from: 1,
    seeds: 50,
  },
  'batch-in-parts': {
    file: 'services/registrar/join/judge-join.ts',
    find: '  if (token) {\n    drafts.push(\n      draft(tokenUsed, token, {',
    put: '  if (token && false) {\n    drafts.push(\n      draft(tokenUsed, token, {',
    from: 1,
    seeds: 100,
  },
  'acknowledged-and-not-kept': {
    file: 'services/registrar/join/batch-by-token.ts',
    find: 'return drafts;',
    // Ids are random: of every fourth batch nothing is written.
    put: "return (joins[0]?.attempt.id ?? '') < '4' ? [] : drafts;",
    from: 1,
    seeds: 50,
  },
  'a-key-of-two-clusters': {
    file: 'services/registrar/members/key-holder.ts',
    find: 'if (holder === undefined || holder === clusterId) return undefined;',
    put: "if (holder !== '') return undefined;",
    from: 1,
    seeds: 200,
  },
  'uses-ignored': {
    file: 'services/registrar/join/token-check.ts',
    find: "allowed === 'unlimited' || (uses?.used ?? 0) < allowed",
    put: "allowed === 'unlimited' || (uses?.used ?? 0) < Infinity",
    from: 1,
    seeds: 100,
  },
  'provisioner-does-not-undo': {
    file: 'services/rbac-provisioner/access/reconcile-access.ts',
    find: 'return mayBeContrary ? wanted : undefined;',
    put: 'return mayBeContrary ? undefined : undefined;',
    from: 1,
    seeds: 800,
  },
  'accounts-stay': {
    file: 'services/rbac-provisioner/access/remove-account.ts',
    find: '    remove(kube, resources.serviceAccounts, account),\n',
    put: '',
    from: 6078,
    seeds: 100,
  },
  'namespaces-stay': {
    file: 'services/rbac-provisioner/access/deprovision.ts',
    find: "|| namespacePolicy === 'Keep') return {};",
    put: "|| namespacePolicy !== '') return {};",
    from: 1,
    seeds: 300,
  },
  'left-before-the-namespace': {
    file: 'services/registrar/members/end-leaving.ts',
    find: "access?.state === 'deprovisioned' && access.verdict === 'leaving';",
    put: "access?.state === 'deprovisioned';",
    from: 1550,
    seeds: 100,
  },
  'held-says-nothing-about-access': {
    file: 'services/rbac-provisioner/access/plan-access.ts',
    find: "    case 'held':\n      return ofOwner;",
    put: "    case 'held':\n      return undefined;",
    from: 1,
    seeds: 800,
  },
  'no-revoked-event': {
    file: 'services/approver/decision/events-after-decision.ts',
    find: 'return revokedKeys.some(({ atMs }) => atMs === decidedAtMs);',
    put: 'return revokedKeys.length < 0;',
    from: 1,
    seeds: 300,
  },
  'a-person-counts-twice': {
    file: 'services/approver/people/person-decision.ts',
    find: '  wasActedOn,\n  isOfFormerEpoch,\n  isFromBefore,',
    put: '',
    from: 1,
    seeds: 200,
  },
  'held-is-not-judged-again': {
    file: 'services/approver/handle-event.ts',
    find: 'return judgeHeldRequests(parts);',
    put: 'return;',
    from: 1,
    seeds: 200,
  },
  'claims-stay-as-they-were': {
    file: 'services/registrar/join/judge-join.ts',
    find: 'return { drafts: isFull ? [] : changedRequest(attempt, context) };',
    put: 'return { drafts: isFull ? [] : [] };',
    from: 1,
    seeds: 400,
  },
  'who-came-back-keeps-its-ending-object': {
    file: 'services/projector/apply/write-cluster.ts',
    find: 'endedFormerRegistration(record, shown)',
    put: 'endedFormerRegistration(record, shown) && false',
    from: 5500,
    seeds: 100,
  },
  'credentials-outlive-the-revocation': {
    file: 'services/account-controller/revocation-list.ts',
    find: '((kept.get(key) ?? 0) + longestLifeMs) / 1000',
    put: '(kept.get(key) ?? 0) / 1000',
    from: 1,
    seeds: 1000,
  },
  'an-end-by-each-clock': {
    file: 'services/projector/desired/desired-token.ts',
    find: '|| isShownExpired(current, expiresAtMs)',
    put: '',
    from: 1,
    seeds: 500,
  },
  'the-former-key-stays': {
    file: 'services/approver/decision/key-rotated.ts',
    find: 'if (retiringKey === undefined || identity.rotatedFrom !== retiringKey) return [];',
    put: "if (retiringKey !== '') return [];",
    from: 1,
    seeds: 300,
  },
  'a-rotation-forgets-the-former-key': {
    file: 'services/approver/decision/key-rotated.ts',
    find: '...(former === undefined ? {} : { retiringKey: former }),',
    put: '',
    from: 1,
    seeds: 300,
  },
  'an-agent-that-leaves-is-not-heard': {
    file: 'services/approver/handle-event.ts',
    find: 'return followUpLeaveRequest(parts, event.id, trace);',
    put: 'return;',
    from: 1,
    seeds: 300,
  },
  'labels-of-people-are-written-over': {
    file: 'services/projector/apply/write-cluster.ts',
    find: 'if (!isOpen || isMadeOfKnown(record, current)) return wanted;',
    put: 'return wanted;',
    from: 1300,
    seeds: 100,
  },
  'given-labels-are-not-shown': {
    file: 'services/projector/desired/cluster-labels.ts',
    find: '    ...carriedLabels(cluster.given),\n',
    put: '',
    from: 1,
    seeds: 50,
  },
  'uses-are-not-shown': {
    file: 'services/projector/desired/desired-token.ts',
    find: 'used: uses?.used ?? 0,',
    put: 'used: 0,',
    from: 1,
    seeds: 50,
  },
  'policies-look-unjudged': {
    file: 'services/projector/desired/desired-policy.ts',
    find: '} else if (isPolicyJudged(record, current)) {',
    put: "} else if (type !== 'Ready') {",
    from: 1,
    seeds: 50,
  },
  'a-key-that-is-out-looks-alive': {
    file: 'services/projector/desired/conditions/ready-condition.ts',
    find: "phase === 'undecided' && isKeyRevoked(projection.record)",
    put: "phase === 'left'",
    from: 550,
    seeds: 100,
  },
  'joined-by-another-clock': {
    file: 'services/heartbeat/members/decide-liveness.ts',
    find: 'Math.max(nowMs, member.admittedAtMs)',
    put: 'nowMs',
    from: 1,
    seeds: 200,
  },
} as const satisfies Record<string, Mutant>;

export type MutantName = keyof typeof mutants;

/** Loads one source file changed. Before anything imports it; for a process of its own. */
export function takeDefenceAway(name: string): void {
  const mutant: Mutant | undefined = Object.hasOwn(mutants, name) ? mutants[name as MutantName] : undefined;
  if (!mutant) throw new RangeError(`there is no mutant "${name}": ${Object.keys(mutants).join(', ')}`);
  const { file, find, put } = mutant;
  const source = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
  if (source.split(find).length !== 2) throw new Error(`${file} does not have this once any more: ${find}`);
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (!url.startsWith('file:') || !fileURLToPath(url).endsWith(`/${file}`)) return loaded;
      return { ...loaded, source: source.replace(find, () => put) };
    },
  });
}
