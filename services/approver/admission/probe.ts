import { inTurn } from '@rollcall/shared/bus';
import { toRollcallError } from '@rollcall/shared/errors';
import { type AdmissionDifference, admissionPolicyNames, readAdmission } from '@rollcall/shared/admission';
import {
  isForbidden,
  isInvalid,
  isNotFound,
  type KubeClient,
  type Resource,
  resources,
  watchResource,
} from '@rollcall/shared/kubernetes';
import { apiVersion } from '@rollcall/shared/resources';
import type { Logger } from '@rollcall/shared/service';

const acceptPolicy = 'rollcall-accept';
/** One of our kinds: nothing of ours is older. */
const kindName = 'approvalpolicies.rollcall.dev';
const installWithinMs = 120_000;
/** What is missing before the first look. */
const notProbed = 'the admission policies have not been probed yet';
const probeName = 'rollcall-admission-probe';
const probeUser = `system:serviceaccount:rollcall-system:${probeName}`;
const fingerprint = '0000-0000-0000-0000';
/** What the watch does not tell: an API server that does not act on policies any more. It is noticed within that time. */
const probeEveryMs = 10_000;
/** While they do not hold, people wait: at first that is an API server that starts, and a moment later they do. */
const whileMissingMs = { first: 250, most: 5000 };

/** Whether people's words are checked by the API server; while they are not, they are held (principle 9). */
export interface AdmissionState {
  /** Why the policies do not hold, or undefined: each is the shipped one, and the API server acts on it. */
  readonly missing: string | undefined;
  /** Whether they were seen not to hold. False as well where the API server could not be asked. */
  readonly isWeak: boolean;
  /**
   * Names this very set of policies: another one once any of them was written or was seen not to act, however it was put back.
   * Undefined while they do not hold.
   */
  readonly version: string | undefined;
}

/** How the hub came into this Kubernetes. */
export interface Installation {
  /** Of one of our kinds. */
  readonly kindUid: string;
  /**
   * Since when whoever installs the hub makes kinds, policies and what these are to check, in one go and in any order; undefined
   * where a policy is younger than that, or was changed since. In ms of the API server's clock.
   */
  readonly installedAtMs: number | undefined;
}

export interface AdmissionProbe {
  state(): AdmissionState;
  /** Whether the first look is over. */
  isProbed(): boolean;
  /** Reads and compares all policies now and tries one of them. What was written before the call was checked by the version that it gives. */
  check(): Promise<AdmissionState>;
  /** The same, and tries each policy. */
  tryAll(): Promise<AdmissionState>;
  /** @throws KubeApiError */
  installation(): Promise<Installation>;
  stop(): void;
}

interface Problem extends AdmissionDifference {
  /** False: nothing was seen, because nobody could be asked. */
  readonly isSeen: boolean;
}

/** For accept a decision of nobody about nothing: complete and in the probe's own name, so that only the missing right can refuse it. */
function probeObject(policy: string) {
  const isAccept = policy === acceptPolicy;
  // Each of the other policies refuses this one name, whoever asks (deploy/admission).
  const name = isAccept ? probeName : `admission-probe-${policy}`;
  const decision = { verdict: 'Approve', keyFingerprint: fingerprint, by: probeUser };
  return {
    apiVersion,
    kind: resources.clusterRegistrationRequests.kind,
    metadata: { name },
    spec: {
      clusterId: name,
      clusterName: probeName,
      keyFingerprint: fingerprint,
      ...(isAccept ? { decision } : {}),
    },
  };
}

/** Whether the API server acts on a policy, which no look at the objects can say: its refusal must name it. */
async function tryPolicy(client: KubeClient, policy: string): Promise<Problem[]> {
  const found = (problem: string, isSeen: boolean): Problem[] => [{ policy, problem, isSeen }];
  try {
    await client.create(resources.clusterRegistrationRequests, probeObject(policy), { dryRun: true });
    return found(`what ${policy} must refuse was not refused`, true);
  } catch (error) {
    const refused = isForbidden(error) || isInvalid(error);
    if (refused && error.message.includes(`'${policy}'`)) return [];
    const { message } = toRollcallError(error);
    // Refused by something else, such as an API server that is starting: nothing got through.
    return found(`the refusal does not name ${policy}: ${message.slice(0, 300)}`, false);
  }
}

interface Examined {
  readonly problems: readonly Problem[];
  readonly version?: string | undefined;
}

async function examine(client: KubeClient, tried: readonly string[]): Promise<Examined> {
  const reading = readAdmission(client).catch((error: unknown) => {
    const problem = `the admission policies cannot be read: ${toRollcallError(error).message}`;
    return { unread: problem };
  });
  const [found, ...refusals] = await Promise.all([
    reading,
    ...tried.map((policy) => tryPolicy(client, policy)),
  ]);
  const unasked = refusals.flat();
  if ('unread' in found) {
    return { problems: [{ policy: acceptPolicy, problem: found.unread, isSeen: false }, ...unasked] };
  }
  const differences = found.differences.map((difference) => ({ ...difference, isSeen: true }));
  return { problems: [...differences, ...unasked], version: found.version };
}

const inWords = (problems: readonly Problem[]): string | undefined =>
  problems.length === 0
    ? undefined
    : problems
        .map(({ problem }) => problem)
        .join('; ')
        .slice(0, 2000);

/** @returns why the admission policies do not hold, or undefined when they are the shipped ones and each refuses as it must */
export async function whyAdmissionIsMissing(client: KubeClient): Promise<string | undefined> {
  return inWords((await examine(client, admissionPolicyNames)).problems);
}

const watched = [
  resources.validatingAdmissionPolicies,
  resources.validatingAdmissionPolicyBindings,
  resources.mutatingAdmissionPolicies,
  resources.mutatingAdmissionPolicyBindings,
];

/**
 * Probes at once, whenever a policy is written, and every ten seconds; more often while they do not hold.
 * @param options.client - a client of rollcall-admission-probe; without it the policies count as missing
 * @param options.everyMs - for tests: another time between two probes
 * @param options.onChange - after the first probe, and whenever the answer is another one
 */
export function startAdmissionProbe(options: {
  client: KubeClient | undefined;
  logger: Logger;
  everyMs?: number;
  onChange: (state: AdmissionState, problems: readonly AdmissionDifference[]) => void;
}): AdmissionProbe {
  const { client, logger, onChange, everyMs = probeEveryMs } = options;
  const stop = new AbortController();
  const { signal } = stop;
  let state: AdmissionState = {
    missing: notProbed,
    isWeak: false,
    version: undefined,
  };
  /** How often the API server was seen not to act on them although no object said so: what was written meanwhile was not checked. */
  let timesWeak = 0;
  let lastWhole: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  let retryMs = whileMissingMs.first;

  async function probe(tried: readonly string[]): Promise<AdmissionState> {
    const unset = { policy: acceptPolicy, problem: 'admissionProbeKubeconfig is not set', isSeen: false };
    const { problems, version }: Examined = client ? await examine(client, tried) : { problems: [unset] };
    const missing = inWords(problems);
    const isWeak = problems.some(({ isSeen }) => isSeen);
    if (isWeak && !state.isWeak && version !== undefined && version === lastWhole) timesWeak++;
    if (missing === undefined) lastWhole = version;
    const before = state;
    state = {
      missing,
      isWeak,
      version: missing === undefined ? `${version}${timesWeak === 0 ? '' : `+${timesWeak}`}` : undefined,
    };
    if (signal.aborted) return state;
    clearTimeout(timer);
    if (client) timer = setTimeout(() => void probeAll(), missing === undefined ? everyMs : retryMs);
    retryMs = missing === undefined ? whileMissingMs.first : Math.min(2 * retryMs, whileMissingMs.most);
    if (missing === before.missing && state.version === before.version) return state;
    if (missing === undefined)
      logger.info({ state: 'in place' }, 'the admission policies refuse as they must');
    else logger.warn({ code: 'ADMISSION_MISSING', reason: missing }, 'decisions of people are held');
    onChange(state, problems);
    return state;
  }

  const probeAll = inTurn(() => probe(admissionPolicyNames));
  void probeAll();
  const look = () => void probeAll();
  if (client) for (const resource of watched) watchPolicies(client, resource);

  function watchPolicies(kube: KubeClient, resource: Resource): void {
    void watchResource(kube, resource, {
      signal,
      keep: ({ apiVersion: version, kind, metadata }) => ({ apiVersion: version, kind, metadata }),
      onEvent: look,
      onError(error) {
        // Kubernetes before 1.36 has no mutating policies; it is asked again, for the day when it is a newer one.
        if (isNotFound(error)) return;
        // A watch that breaks off may be an API server that comes back without them.
        look();
      },
    });
  }

  return {
    state: () => state,
    isProbed: () => state.missing !== notProbed,
    // All policies are read and compared each time: who asks while that is under way shares the next.
    check: inTurn(() => probe([acceptPolicy])),
    tryAll: probeAll,
    async installation() {
      if (!client) return { kindUid: '', installedAtMs: undefined };
      const [{ madeAtMs }, kind] = await Promise.all([
        readAdmission(client),
        client.get(resources.customResourceDefinitions, { name: kindName }),
      ]);
      const kindAtMs = Date.parse(kind?.metadata.creationTimestamp ?? '');
      const isInOneGo = madeAtMs !== undefined && madeAtMs - kindAtMs <= installWithinMs;
      return { kindUid: kind?.metadata.uid ?? '', installedAtMs: isInOneGo ? kindAtMs : undefined };
    },
    stop() {
      stop.abort();
      clearTimeout(timer);
    },
  };
}
