import { isDeepStrictEqual } from 'node:util';
import {
  type PolicyDeclaration,
  policyDeclaration,
  isTakenBack,
  publicationIdOf,
  setDeclaration,
  type TokenDeclaration,
  tokenRecord,
} from '@rollcall/shared/events';
import { resources } from '@rollcall/shared/kubernetes';
import type { ApprovalPolicy, ClusterRegistrationToken, ManagedClusterSet } from '@rollcall/shared/resources';
import type { Logger } from '@rollcall/shared/service';
import { tokenIdOf } from '@rollcall/shared/trust';
import { declaredBy } from './author-of-object.ts';
import type { DeclaredKind } from './object-controller.ts';
import { decidePolicy, type PolicyObject, rulesOf } from './policy-declaration.ts';
import { type PolicyProblem, policyProblem, type PolicyRule } from '../policy/policy-problem.ts';
import { policyWarnings, setWarnings } from '../policy/policy-warning.ts';
import { decideSet, readSet } from './set-declaration.ts';
import {
  decideToken,
  isListed,
  keyMadeFor,
  objectThatCounts,
  readToken,
  type TokenRules,
} from './token-declaration.ts';
import { isOfFormerEpoch, type HubEpoch } from './token-epoch.ts';

/** Which sets there are. */
export interface KnownSets {
  readonly whenSynced: Promise<void>;
  /** Why nobody can be put into the set of that name. */
  problemOf(name: string): string | undefined;
}

/** What a token gives, whichever object says so. */
function whatItGives({
  publicKey: _key,
  uid: _uid,
  declaredAtMs: _at,
  problem: _problem,
  withdrawn: _isOut,
  ...rest
}: TokenDeclaration): object {
  return rest;
}

/** ClusterRegistrationTokens: by their public key, or by their object while the hub makes the key. */
export function declaredTokens(options: {
  rules: TokenRules;
  nowMs(): number;
  /** Of a hub that was restored. */
  hubEpoch?: HubEpoch | undefined;
  sets?: KnownSets;
}): DeclaredKind<ClusterRegistrationToken> {
  return {
    kind: 'token',
    resource: resources.clusterRegistrationTokens,
    whenKnown: options.sets?.whenSynced,
    idOf: ({ metadata, spec }) =>
      spec.publicKey === undefined ? publicationIdOf(metadata.uid) : tokenIdOf(spec.publicKey),
    isInForce(found, object) {
      const record = tokenRecord(found);
      const before = record.declaration;
      if (isOfFormerEpoch(object, record, options.hubEpoch)) return true;
      // Where tokens do not count, whoever may write them could fill the list; but a set is given by who may join it alone.
      if (object.spec.clusterSet === undefined && !isListed(object, options.rules)) return true;
      if (before === undefined || isTakenBack(before)) return false;
      return isDeepStrictEqual(
        whatItGives(before),
        whatItGives(readToken(object, { nowMs: 0, allowEndless: true, namespaces: 'any' })),
      );
    },
    alongWith(record) {
      const publicKey = keyMadeFor(tokenRecord(record));
      return publicKey === undefined ? undefined : tokenIdOf(publicKey);
    },
    decide(found, objects, along) {
      const record = tokenRecord(found);
      const { publicationId } = record.declaration ?? {};
      // The aggregate of a key that the hub made is declared along with the one that asked for it, and never alone.
      if (publicationId !== undefined && publicationId !== found.aggregate.id) return [];
      const { rules, hubEpoch, sets } = options;
      const object = objectThatCounts(objects, rules);
      const nowMs = options.nowMs();
      const isVoid = object !== undefined && isOfFormerEpoch(object, record, hubEpoch);
      const { clusterSet } = object?.spec ?? {};
      const ofSet = clusterSet === undefined ? undefined : sets?.problemOf(clusterSet);
      const read = object && readToken(object, { ...rules, nowMs, setProblem: ofSet });
      const wanted = read && isVoid && hubEpoch ? { ...read, voidSinceEpoch: hubEpoch.epoch } : read;
      return decideToken({
        record,
        wanted,
        epoch: hubEpoch?.epoch,
        nowMs,
        by: declaredBy(object),
        ofKey: along && tokenRecord(along),
      });
    },
  };
}

/** ApprovalPolicies, by name. */
export function declaredPolicies(logger: Logger, sets?: KnownSets): DeclaredKind<ApprovalPolicy> {
  const ofSets = (rules: readonly PolicyRule[]) => setWarnings(rules, (name) => sets?.problemOf(name));
  /** By name, what does not compile: status updates and changes of sets lead here as well. */
  const broken = new Map<string, { readonly version: string; readonly problem: PolicyProblem }>();

  function problemOf(
    { metadata: { name, uid, generation } }: PolicyObject,
    rules: PolicyDeclaration['rules'],
  ) {
    const version = `${uid} ${generation}`;
    const known = broken.get(name);
    if (known?.version === version) return known.problem;
    const problem = policyProblem(rules);
    if (problem) broken.set(name, { version, problem });
    else broken.delete(name);
    return problem;
  }

  return {
    kind: 'policy',
    resource: resources.approvalPolicies,
    whenKnown: sets?.whenSynced,
    idOf: ({ metadata }) => metadata.name,
    isInForce(record, object) {
      const before = policyDeclaration(record);
      return before?.withdrawn === false && isDeepStrictEqual(before.rules, rulesOf(object));
    },
    loosens(record, object) {
      const before = policyDeclaration(record);
      const rules = object ? rulesOf(object) : [];
      // Who writes a rule that approves is asked for `accept`, whatever stood there before.
      if (before?.withdrawn !== false || rules.some(({ effect }) => effect === 'Approve')) return false;
      return before.rules.some(
        (rule) => rule.effect !== 'Approve' && !rules.some((other) => isDeepStrictEqual(other, rule)),
      );
    },
    decide(record, [object]) {
      if (!object) {
        broken.delete(record.aggregate.id);
        return decidePolicy({ record, wanted: undefined });
      }
      const { name, uid, generation = 1 } = object.metadata;
      const before = policyDeclaration(record);
      const by = declaredBy(object);
      // Status updates come here as well; what was compiled once is not compiled again.
      const isKnown =
        before &&
        !before.withdrawn &&
        before.uid === uid &&
        before.generation === generation &&
        !before.problem;
      if (isKnown) {
        const { warnings: said = [] } = before;
        const warnings = [...said.filter(({ reason }) => reason !== 'InvalidSet'), ...ofSets(before.rules)];
        if (isDeepStrictEqual(warnings, said)) return [];
        return decidePolicy({ record, wanted: { ...before, problem: undefined, warnings }, by });
      }
      // One that an older version could not read may be good for this one, although nobody has touched it.
      const rules = rulesOf(object);
      const problem = problemOf(object, rules);
      const warnings = problem ? [] : [...policyWarnings(rules), ...ofSets(rules)];
      const drafts = decidePolicy({
        record,
        wanted: { name, uid, generation, rules, problem, warnings },
        by,
      });
      if (problem && drafts.length > 0)
        logger.warn(
          { object: `policy/${name}`, reason: `${problem.line}:${problem.column} ${problem.message}` },
          'policy does not compile',
        );
      return drafts;
    },
  };
}

/** ManagedClusterSets, by name. */
export const declaredSets: DeclaredKind<ManagedClusterSet> = {
  kind: 'set',
  resource: resources.managedClusterSets,
  idOf: ({ metadata }) => metadata.name,
  isInForce(record, object) {
    const before = setDeclaration(record);
    return before?.withdrawn === false && before.selectorType === readSet(object).selectorType;
  },
  decide: (record, [object]) =>
    decideSet({ record, wanted: object && readSet(object), by: declaredBy(object) }),
};
