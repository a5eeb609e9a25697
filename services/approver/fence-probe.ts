import { inTurn } from '@rollcall/shared/bus';
import { toRollcallError } from '@rollcall/shared/errors';
import { type FenceDifference, fenceDifferences } from '@rollcall/shared/fence';
import { isForbidden, isInvalid, type KubeClient, resources } from '@rollcall/shared/kubernetes';
import { apiVersion } from '@rollcall/shared/resources';
import type { Logger } from '@rollcall/shared/service';

/** The policy that must refuse the dry run; its refusal names it. */
const policyName = 'rollcall-accept';
const probeName = 'rollcall-fence-probe';
const probeUser = `system:serviceaccount:rollcall-system:${probeName}`;
const fingerprint = '0000-0000-0000-0000';
/** Whatever happens to it is to be noticed within a minute. */
const everyMs = 30_000;
/** While it is missing, people wait for it: at first that is an API server that starts, and a moment later it stands. */
const whileMissingMs = { first: 250, most: 5000 };

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

const onProbing = (problem: string): FenceDifference[] => [{ policy: policyName, problem }];

/** Whether the API server acts on admission policies at all, which no look at the objects can say. */
async function tryDecision(client: KubeClient): Promise<FenceDifference[]> {
  try {
    await client.create(resources.clusterRegistrationRequests, probeObject, { dryRun: true });
    return onProbing(`a decision of ${probeName} was not refused`);
  } catch (error) {
    const refused = isForbidden(error) || isInvalid(error);
    if (refused && error.message.includes(policyName)) return [];
    return onProbing(
      `the refusal does not name ${policyName}: ${toRollcallError(error).message.slice(0, 300)}`,
    );
  }
}

/** Every policy as it was shipped, and one of them tried. @returns nothing when the fence holds */
async function examineFence(client: KubeClient): Promise<readonly FenceDifference[]> {
  const [differences, tried] = await Promise.all([
    fenceDifferences(client).catch((error: unknown) =>
      onProbing(`the fence cannot be read: ${toRollcallError(error).message}`),
    ),
    tryDecision(client),
  ]);
  return [...differences, ...tried];
}

const inWords = (differences: readonly FenceDifference[]): string | undefined =>
  differences.length === 0 ? undefined : differences.map(({ problem }) => problem).join('; ');

/** @returns why the fence does not hold, or undefined when it is the shipped one and refused as it must */
export async function whyFenceIsMissing(client: KubeClient): Promise<string | undefined> {
  return inWords(await examineFence(client));
}

/**
 * Probes at once and twice a minute, more often while the fence is missing.
 * @param options.client - a client of rollcall-fence-probe; without it the fence counts as missing
 * @param options.onChange - after the first probe, and whenever the answer is another one
 */
export function startFenceProbe(options: {
  client: KubeClient | undefined;
  logger: Logger;
  onChange: (missing: string | undefined, differences: readonly FenceDifference[]) => void;
}): Fence {
  const { client, logger, onChange } = options;
  let missing: string | undefined = 'the fence has not been probed yet';
  let known: string | undefined = missing;

  let timer: NodeJS.Timeout | undefined;
  let retryMs = whileMissingMs.first;
  let isStopped = false;

  async function probe(): Promise<string | undefined> {
    const differences = client ? await examineFence(client) : onProbing('fenceProbeKubeconfig is not set');
    missing = inWords(differences);
    if (isStopped) return missing;
    clearTimeout(timer);
    if (client) timer = setTimeout(() => void probe(), missing === undefined ? everyMs : retryMs);
    retryMs = missing === undefined ? whileMissingMs.first : Math.min(2 * retryMs, whileMissingMs.most);
    if (missing === known) return missing;
    known = missing;
    if (missing === undefined) logger.info({ state: 'in place' }, 'the fence refuses as it must');
    else logger.warn({ code: 'FENCE_MISSING', reason: missing }, 'decisions of people are held');
    onChange(missing, differences);
    return missing;
  }

  void probe();
  return {
    missing: () => missing,
    // All policies are read and compared each time: who asks while that is under way shares the next.
    check: inTurn(probe),
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
