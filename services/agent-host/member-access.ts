import type { LookupOptions } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { promisify } from 'node:util';
import type { KubeAccess } from '@rollcall/shared/kubernetes';
import { createResponseBudget } from './response-budget.ts';
import { createCautiousLookup } from './guarded-lookup.ts';
import { readMemberKubeconfig } from './judge-kubeconfig.ts';
import { type AddressJudge, endpointOf } from './refused-address.ts';

/** A page of 100 nodes is some 2 MB. */
const maxResponseBytes = 4_194_304;
/** The facts of a member with thousands of nodes, which are read every five minutes. */
const budget = { maxBytes: 67_108_864, windowMs: 300_000 };

/** Turns the kubeconfig of a Secret into access that may be used: cautiously, whatever is at the other end. */
export function createMemberAccess(judge: AddressJudge): (kubeconfig: string) => Promise<KubeAccess> {
  const lookupFor: (port: number) => LookupFunction = createCautiousLookup(judge);
  return async (kubeconfig) => {
    const access = readMemberKubeconfig(kubeconfig, judge);
    const { host, port } = endpointOf(new URL(access.server), 443);
    const lookup = lookupFor(port);
    // Nobody looks an address up when it is connected to; it may be that of a part of the hub which we know by its name.
    if (isIP(host) !== 0) await promisify<string, LookupOptions, unknown>(lookup)(host, { all: true });
    return {
      ...access,
      caution: {
        lookup,
        maxResponseBytes,
        spend: createResponseBudget({ ...budget, nowMs: () => performance.now() }),
      },
    };
  };
}
