import { policyDeclaration, publicationIdOf, tokenRecord } from '@rollcall/shared/events';
import { resources } from '@rollcall/shared/kubernetes';
import type { ApprovalPolicy, ClusterRegistrationToken, ManagedClusterSet } from '@rollcall/shared/resources';
import type { Logger } from '@rollcall/shared/service';
import { tokenIdOf } from '@rollcall/shared/trust';
import type { DeclaredKind } from './declare-objects.ts';
import { decidePolicy, rulesOf } from './policy-declaration.ts';
import { policyProblem } from './policy-problem.ts';
import { policyWarnings } from './policy-warning.ts';
import { decideSet, readSet } from './set-declaration.ts';
import { decideToken, objectThatCounts, readToken } from './token-declaration.ts';

/** ClusterRegistrationTokens: by their public key, or by their object while the hub makes the key. */
export function declaredTokens(options: {
  allowEndless: boolean;
  nowMs(): number;
}): DeclaredKind<ClusterRegistrationToken> {
  return {
    kind: 'token',
    resource: resources.clusterRegistrationTokens,
    idOf: ({ metadata, spec }) =>
      spec.publicKey === undefined ? publicationIdOf(metadata.uid) : tokenIdOf(spec.publicKey),
    alongWith(record) {
      const { publicKey } = tokenRecord(record).publication ?? {};
      return publicKey === undefined ? undefined : tokenIdOf(publicKey);
    },
    decide(read, objects, along) {
      const record = tokenRecord(read);
      const { publicationId } = record.declaration ?? {};
      // The aggregate of a key that the hub made is declared along with the one that asked for it, and never alone.
      if (publicationId !== undefined && publicationId !== read.aggregate.id) return [];
      const object = objectThatCounts(objects);
      const nowMs = options.nowMs();
      const wanted = object && readToken(object, { nowMs, allowEndless: options.allowEndless });
      return decideToken({ record, wanted, nowMs, ofKey: along && tokenRecord(along) });
    },
  };
}

/** ApprovalPolicies, by name. */
export function declaredPolicies(logger: Logger): DeclaredKind<ApprovalPolicy> {
  return {
    kind: 'policy',
    resource: resources.approvalPolicies,
    idOf: ({ metadata }) => metadata.name,
    decide(record, [object]) {
      if (!object) return decidePolicy({ record, wanted: undefined });
      const { name, uid, generation = 1 } = object.metadata;
      const before = policyDeclaration(record);
      // Status updates come here as well; what was compiled once is not compiled again.
      const isKnown =
        before &&
        !before.withdrawn &&
        before.uid === uid &&
        (before.problem?.generation ?? before.generation) === generation;
      if (isKnown) return [];
      const rules = rulesOf(object);
      const problem = policyProblem(rules);
      const warnings = problem ? [] : policyWarnings(rules);
      if (problem)
        logger.warn(
          { object: `policy/${name}`, reason: `${problem.line}:${problem.column} ${problem.message}` },
          'policy does not compile',
        );
      return decidePolicy({ record, wanted: { name, uid, generation, rules, problem, warnings } });
    },
  };
}

/** ManagedClusterSets, by name. */
export const declaredSets: DeclaredKind<ManagedClusterSet> = {
  kind: 'set',
  resource: resources.managedClusterSets,
  idOf: ({ metadata }) => metadata.name,
  decide: (record, [object]) => decideSet({ record, wanted: object && readSet(object) }),
};
