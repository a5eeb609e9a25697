import type { LookupFunction } from 'node:net';
import type { KubeAccess } from '@rollcall/shared/kubernetes';
import { createAnswerBudget } from './answer-budget.ts';
import { createCautiousLookup } from './cautious-lookup.ts';
import { readMemberKubeconfig } from './member-kubeconfig.ts';
import { type AddressJudge, endpointOf } from './refused-address.ts';

/** A page of 100 nodes is some 2 MB. */
const maxAnswerBytes = 4_194_304;
/** The facts of a member with thousands of nodes, which are read every five minutes. */
const budget = { maxBytes: 67_108_864, windowMs: 300_000 };

/** Turns the kubeconfig of a Secret into access that may be used: cautiously, whatever is at the other end. */
export function createMemberAccess(judge: AddressJudge): (kubeconfig: string) => KubeAccess {
  const lookupFor: (port: number) => LookupFunction = createCautiousLookup(judge);
  return (kubeconfig) => {
    const access = readMemberKubeconfig(kubeconfig, judge);
    const { port } = endpointOf(new URL(access.server), 443);
    return {
      ...access,
      caution: {
        lookup: lookupFor(port),
        maxAnswerBytes,
        spend: createAnswerBudget({ ...budget, nowMs: () => performance.now() }),
      },
    };
  };
}
