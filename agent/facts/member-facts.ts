import { setTimeout as delay } from 'node:timers/promises';
import type { Facts } from '@rollcall/shared/bus';
import { cutText } from '@rollcall/shared/text';
import { mergeCidrs } from './cidr.ts';
import { describeNodes, mostCidrs } from './facts-of-nodes.ts';
import type { MemberApi } from './member-api.ts';
import { followClaims } from './member-claims.ts';
import { followNodes } from './follow-nodes.ts';
import { ofCidrs, textsIn } from './counted-node.ts';

/** What a person says of the member; it counts more than what is found. */
export interface FactSettings {
  readonly provider?: string | undefined;
  readonly region?: string | undefined;
  readonly podCIDRs?: readonly string[] | undefined;
  readonly serviceCIDRs?: readonly string[] | undefined;
  /** How many of the nodes must share a label for it to become the cluster's: 51 to 100, or 0 for none. Default: 80, as in Clusternet. */
  readonly nodeLabelThresholdPercent?: number | undefined;
}

/** What the agent reports of its member. Whatever cannot be read is absent: a cluster without the right to list nodes registers all the same. */
export interface MemberFacts {
  /** Asks anew what is not watched. Never rejects. */
  read(): Promise<Facts>;
  /** As far as it is known, without asking anybody. */
  latest(): Facts;
  /** Called when something that is watched may have changed. */
  onChange(listener: () => void): void;
}

export interface MemberFactsOptions {
  readonly agentVersion: string;
  readonly settings: FactSettings;
  /** As whom people of the hub get in; undefined: nobody does. */
  readonly memberAccess?: string | undefined;
  /** How long kinds that are not there, or closed to us, are left alone. */
  readonly lookAgainMs: number;
  readonly signal: AbortSignal;
}

const defaultThresholdPercent = 80;
/** The first request does not wait for ever for a member with very many nodes. */
const longestFirstLookMs = 10_000;
/** The hub takes no longer one. */
const longestCaPem = 16_384;

type MemberReader = Pick<MemberApi, 'server' | 'caPem' | 'get' | 'watch'>;

/** Follows what can be followed, and asks for the rest when it is told to. Two requests at a time: each connection costs the API server a handshake. */
export function followMember(member: MemberReader, options: MemberFactsOptions): MemberFacts {
  const { settings, lookAgainMs, signal } = options;
  const listeners = new Set<() => void>();
  const onChange = () => listeners.forEach((listener) => listener());
  let ofApi: Facts = {};
  const firstApi = readApiFacts(member, {});
  const nodes = followNodes(member, { lookAgainMs, onChange, signal });
  const claims = followClaims(member, { lookAgainMs, after: firstApi, onChange, signal });
  let isFirst = true;

  function latest(): Facts {
    const counted = nodes.latest();
    const { provider, region, podCIDRs, serviceCIDRs, nodeLabelThresholdPercent } = settings;
    const labelThresholdPercent = nodeLabelThresholdPercent ?? defaultThresholdPercent;
    const said = { provider, region, podCIDRs, serviceCIDRs };
    return {
      ...ofApi,
      ...(counted ? describeNodes([...counted.values()], { labelThresholdPercent }) : {}),
      ...claims.latest(),
      ...Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined)),
      apiServerURL: member.server,
      ...(member.caPem === undefined || member.caPem.length > longestCaPem
        ? {}
        : { apiServerCA: member.caPem }),
      agentVersion: options.agentVersion,
      ...(options.memberAccess === undefined ? {} : { memberAccess: cutText(options.memberAccess, 256) }),
    };
  }

  return {
    latest,
    onChange: (listener) => void listeners.add(listener),
    async read() {
      if (isFirst) {
        isFirst = false;
        const late = new AbortController();
        const looks = Promise.all([nodes.firstLook, claims.firstLook]);
        ofApi = await firstApi;
        const tooLate = delay(longestFirstLookMs, undefined, { signal: late.signal }).catch(() => undefined);
        await Promise.race([looks, tooLate]);
        late.abort();
      } else ofApi = await readApiFacts(member, ofApi);
      return latest();
    },
  };
}

/** The hub takes no longer ones, and a member may answer anything at all. */
function short(text: unknown): string | undefined {
  return typeof text === 'string' ? cutText(text, 256) : undefined;
}

/**
 * Never rejects: an unhandled rejection would end the process, in the agent host with the agents of all other members.
 * @param before - what stays where nobody answers: a version does not change while its API server is away
 */
function readApiFacts(member: MemberReader, before: Facts): Promise<Facts> {
  return askApi(member, before).catch(() => before);
}

async function askApi(member: MemberReader, before: Facts): Promise<Facts> {
  const version = await readJson<{ gitVersion?: unknown; platform?: unknown }>(member, '/version');
  const kubernetesVersion = short(version?.gitVersion) ?? before.kubernetesVersion;
  const platform = short(version?.platform) ?? before.platform;
  const facts: Facts = {
    ...(kubernetesVersion === undefined ? {} : { kubernetesVersion }),
    ...(platform === undefined ? {} : { platform }),
  };
  for (const check of ['healthz', 'livez', 'readyz'] as const) {
    const status = await member.get(`/${check}`).then(
      (answer) => answer.status,
      () => undefined,
    );
    // 401 and 403 say nothing about health.
    if (status === 200 || (status !== undefined && status >= 500)) facts[check] = status === 200;
  }
  const serviceCIDRs = (await readServiceCidrs(member)) ?? before.serviceCIDRs;
  return { ...facts, ...(serviceCIDRs === undefined ? {} : { serviceCIDRs }) };
}

interface ServiceCidrs {
  readonly items?: readonly ({ readonly spec?: { readonly cidrs?: unknown } } | null)[];
}

/** Kubernetes says so from 1.33 on; before that nobody but its start-up flags knows. */
async function readServiceCidrs(member: MemberReader): Promise<string[] | undefined> {
  const path = `/apis/networking.k8s.io/v1/servicecidrs?limit=${mostCidrs}`;
  const list = await readJson<ServiceCidrs>(member, path);
  const items = Array.isArray(list?.items) ? (list.items as NonNullable<ServiceCidrs['items']>) : [];
  // A server may say more than it was asked for; to reckon with all that fits into an answer takes seconds.
  const said = items.slice(0, mostCidrs).flatMap((item) => textsIn(item?.spec?.cidrs, ofCidrs));
  const cidrs = mergeCidrs(said);
  return cidrs.length > 0 ? cidrs.slice(0, mostCidrs) : undefined;
}

async function readJson<T>(member: MemberReader, path: string): Promise<T | undefined> {
  try {
    const answer = await member.get(path);
    return answer.status === 200 ? ((JSON.parse(answer.body) ?? undefined) as T | undefined) : undefined;
  } catch {
    return undefined;
  }
}
