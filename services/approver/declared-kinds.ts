import { policyDeclaration, tokenRecord } from '@rollcall/shared/events';
import { resources } from '@rollcall/shared/kubernetes';
import type { ApprovalPolicy, ClusterRegistrationToken, ManagedClusterSet } from '@rollcall/shared/resources';
import type { Logger } from '@rollcall/shared/service';
import { tokenIdOf } from '@rollcall/shared/trust';
import type { DeclaredKind } from './declare-objects.ts';
import { decidePolicy, rulesOf } from './policy-declaration.ts';
import { policyProblem } from './policy-problem.ts';
import { decideSet, readSet } from './set-declaration.ts';
import { decideToken, objectThatCounts, readToken } from './token-declaration.ts';

/** ClusterRegistrationTokens, by their public key. */
export function declaredTokens(options: {
  allowEndless: boolean;
  logger: Logger;
  nowMs(): number;
}): DeclaredKind<ClusterRegistrationToken> {
  return {
    kind: 'token',
    resource: resources.clusterRegistrationTokens,
    idOf: ({ spec }) => (spec.publicKey === undefined ? undefined : tokenIdOf(spec.publicKey)),
    decide(record, objects) {
      const object = objectThatCounts(objects);
      const wanted =
        object && readToken(object, { nowMs: options.nowMs(), allowEndless: options.allowEndless });
      if (wanted && 'problem' in wanted) {
        options.logger.warn(
          { object: `${object.metadata.namespace}/${object.metadata.name}`, reason: wanted.problem },
          'token is not taken',
        );
      }
      return decideToken({
        record: tokenRecord(record),
        wanted: wanted && 'declaration' in wanted ? wanted.declaration : undefined,
      });
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
      if (problem)
        logger.warn(
          { object: `policy/${name}`, reason: `${problem.line}:${problem.column} ${problem.message}` },
          'policy does not compile',
        );
      return decidePolicy({ record, wanted: { name, uid, generation, rules, problem } });
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
