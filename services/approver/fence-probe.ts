import { toRollcallError } from '@rollcall/shared/errors';
import { isForbidden, isInvalid, type KubeClient, resources } from '@rollcall/shared/kubernetes';
import { apiVersion } from '@rollcall/shared/resources';
import type { Logger } from '@rollcall/shared/service';

/** The policy that must refuse; its refusal names it. */
const policyName = 'rollcall-accept';
const probeName = 'rollcall-fence-probe';
const probeUser = `system:serviceaccount:rollcall-system:${probeName}`;
const fingerprint = '0000-0000-0000-0000';
const everyMs = 60_000;
/** While it is missing, people wait for it. */
const whileMissingMs = 5000;

/** Whether people's decisions are checked by the API server; while they are not, they are held (decision 9). */
export interface Fence {
  /** What the last probe found: why it counts as missing, or undefined. */
  missing(): string | undefined;
  /** Probes now: between two probes the fence may have been taken down, and a decision cannot be taken back. */
  check(): Promise<string | undefined>;
  stop(): void;
}

/** A decision of nobody about nothing: complete and in the probe's own name, so that only the missing right can refuse it. */
const probeObject = {
  apiVersion,
  kind: resources.clusterRegistrationRequests.kind,
  metadata: { name: probeName },
  spec: {
    clusterId: probeName,
    clusterName: probeName,
    keyFingerprint: fingerprint,
    decision: { verdict: 'Approve', keyFingerprint: fingerprint, by: probeUser },
  },
};

/** @returns why the fence does not hold, or undefined when it refused as it must */
export async function whyFenceIsMissing(client: KubeClient): Promise<string | undefined> {
  try {
    await client.create(resources.clusterRegistrationRequests, probeObject, { dryRun: true });
    return `a decision of ${probeName} was not refused`;
  } catch (error) {
    const refused = isForbidden(error) || isInvalid(error);
    if (refused && error.message.includes(policyName)) return undefined;
    return `the refusal does not name ${policyName}: ${toRollcallError(error).message.slice(0, 300)}`;
  }
}

/**
 * Probes at once and every minute, more often while the fence is missing.
 * @param options.client - a client of rollcall-fence-probe; without it the fence counts as missing
 * @param options.onChange - after the first probe, and whenever the answer is another one
 */
export function startFenceProbe(options: {
  client: KubeClient | undefined;
  logger: Logger;
  onChange: (missing: string | undefined) => void;
}): Fence {
  const { client, logger, onChange } = options;
  let missing: string | undefined = 'the fence has not been probed yet';
  let known: boolean | undefined;

  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  async function probe(): Promise<string | undefined> {
    missing = client ? await whyFenceIsMissing(client) : 'fenceProbeKubeconfig is not set';
    if (isStopped) return missing;
    clearTimeout(timer);
    if (client) timer = setTimeout(() => void probe(), missing === undefined ? everyMs : whileMissingMs);
    const isThere = missing === undefined;
    if (isThere === known) return missing;
    known = isThere;
    if (isThere) logger.info({ state: 'in place' }, 'the fence refuses as it must');
    else logger.warn({ code: 'FENCE_MISSING', reason: missing ?? '' }, 'decisions of people are held');
    onChange(missing);
    return missing;
  }

  void probe();
  return {
    missing: () => missing,
    check: probe,
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
