import type { EventLog } from '@rollcall/shared/bus';
import type { KubeClient, KubeObject } from '@rollcall/shared/kubernetes';
import type { Logger } from '@rollcall/shared/service';
import type { Hearing, AdmissionGate } from '../admission/while-admission-in-place.ts';
import type { Heartbeat } from '../decision/decision-section.ts';
import { type DeclaredKind, startObjectController } from '../declarations/object-controller.ts';
import { declaredPolicies, declaredSets, declaredTokens } from '../declarations/declared-kinds.ts';
import { followConfirmations } from '../bulk/follow-confirmations.ts';
import { followUserChanges, type PeopleParts } from './user-changes.ts';
import { setProblem } from '@rollcall/shared/resources/set-problem';
import type { TokenRules } from '../declarations/token-declaration.ts';
import type { HubEpoch } from '../declarations/token-epoch.ts';

export interface HearParts {
  readonly log: EventLog;
  readonly client: KubeClient;
  readonly logger: Logger;
  readonly heartbeat: Heartbeat;
  readonly leaveWaitMs: number;
  readonly bulk: PeopleParts['bulk'];
  readonly arrivals: PeopleParts['arrivals'];
  /** Of a hub that was restored. */
  readonly hubEpoch: HubEpoch | undefined;
  readonly tokenRules: TokenRules;
  nowMs(): number;
}

/** All that people write, heard while the admission policies hold. */
export interface FollowsEverything extends Hearing {
  /** Looks again at one token: the hub has made it. */
  wakeToken(id: string): void;
  /** Looks again at what people made beforehand in vain: an id or a name may be free now. */
  lookAtPredefined(): void;
}

/** The kinds that the hub declares as events, for who only compares. */
export function peoplesKinds({
  tokenRules: rules,
  hubEpoch,
  nowMs,
  logger,
}: HearParts): DeclaredKind<KubeObject>[] {
  const kinds = [declaredTokens({ rules, hubEpoch, nowMs }), declaredPolicies(logger), declaredSets];
  return kinds as unknown as DeclaredKind<KubeObject>[];
}

/** Declares tokens, policies and sets, and acts on what people decide and want of clusters. */
export function followEverything(parts: HearParts, gate: AdmissionGate): FollowsEverything {
  const { log, client, logger, hubEpoch, tokenRules: rules, nowMs } = parts;
  const declaring = { log, client, logger, gate, nowMs };
  const sets = startObjectController(
    {
      ...declaring,
      onChange(name) {
        tokens.wakeWhere(({ spec }) => spec.clusterSet === name);
        policies.wakeWhere(({ spec }) => spec.rules.some(({ clusterSet }) => clusterSet === name));
      },
    },
    declaredSets,
  );
  const problemOf = (name: string) => setProblem(name, sets.objectsOf(name)[0]);
  const knownSets = { whenSynced: sets.whenSynced, problemOf };
  const tokens = startObjectController(
    declaring,
    declaredTokens({ rules, nowMs, hubEpoch, sets: knownSets }),
  );
  const policies = startObjectController(declaring, declaredPolicies(logger, knownSets));
  const people = followUserChanges({
    ...parts,
    gate,
    spent: hubEpoch && new Set(hubEpoch.spent),
    setProblem: problemOf,
  });
  const confirmed = followConfirmations({
    log,
    client,
    logger,
    gate,
    nowMs,
    onConfirmed: () => people.lookAgain(),
  });
  const declarations = [tokens, policies, sets];
  return {
    wakeToken: tokens.wake,
    lookAtPredefined: people.lookAtPredefined,
    lookAgain() {
      confirmed.lookAgain();
      people.lookAgain();
      tokens.wakeWhere(() => true);
      policies.wakeWhere(() => true);
      sets.wakeWhere(() => true);
    },
    async drain() {
      await Promise.all([people, confirmed, ...declarations].map((each) => each.drain()));
    },
  };
}
