import { errorCatalogue } from '@rollcall/shared/errors';
import { foreignMutators } from '@rollcall/shared/admission';
import { type KubeClient, type KubeObject, type Resource, resources } from '@rollcall/shared/kubernetes';
import {
  type ApprovalPolicy,
  type ClusterRegistrationRequest,
  type ClusterRegistrationToken,
  labels,
  type ManagedCluster,
} from '@rollcall/shared/resources';
import { findHubInfo } from '@rollcall/shared/hub';
import { kubeApiError } from '@rollcall/shared/kubernetes/kube-api-error';
import { userName } from '../decide/user-name.ts';
import { admissionFindings } from '../status/admission-state.ts';
import { serverVersion } from '../status/server-version.ts';
import { examineClock } from './examine-clock.ts';
import { examineMemberApi } from './examine-member-api.ts';
import { examineKeys, examinePods } from './examine-pods.ts';
import { counted, examine, finding, type Finding, ok, skipped } from './finding.ts';
import { someNames } from '../terminal/some-names.ts';
import { judgePolicies, judgeRequests, judgeTokens } from './judge-objects.ts';

const oldest = { major: 1, minor: 30 } as const;

async function version(client: KubeClient): Promise<Finding> {
  const gitVersion = await serverVersion(client);
  if (gitVersion === undefined)
    return skipped('kubernetes', `${client.access.server} does not tell you its version`);
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(gitVersion) ?? [];
  const isNewEnough = Number(major) > oldest.major || Number(minor) >= oldest.minor;
  return isNewEnough
    ? ok('kubernetes', `${client.access.server} runs ${gitVersion}`)
    : finding(
        'kubernetes',
        `${client.access.server} runs ${gitVersion || 'an unknown version'}`,
        `Upgrade the hub's Kubernetes to ${oldest.major}.${oldest.minor} or newer.`,
      );
}

const ourKinds = [
  resources.managedClusters,
  resources.clusterRegistrationRequests,
  resources.clusterRegistrationTokens,
  resources.approvalPolicies,
  resources.managedClusterSets,
  resources.managedClusterSetBindings,
];

/** Whether the API server still has all of them. */
export async function kinds(client: KubeClient): Promise<Finding> {
  const path = '/apis/rollcall.dev/v1alpha1';
  const { status, body } = await client.raw(path);
  // A server that is busy, or does not know us, says nothing of kinds.
  if (status !== 200 && status !== 404) throw kubeApiError(status, body, `GET ${path}`);
  const served =
    status === 200 ? ((JSON.parse(body) as { resources?: readonly { name: string }[] }).resources ?? []) : [];
  const missing = ourKinds.filter(({ plural }) => !served.some(({ name }) => name === plural));
  return missing.length === 0
    ? ok('kinds', `all ${ourKinds.length} kinds of rollcall.dev/v1alpha1 are served`)
    : finding(
        'kinds',
        `not served: ${missing.map(({ plural }) => plural).join(', ')}`,
        'Apply deploy/crds, or check that --kubeconfig and --context name the hub.',
      );
}

async function admission(client: KubeClient): Promise<Finding> {
  const problems = await admissionFindings(client).catch((error: unknown) => {
    if (error instanceof Error) return error;
    throw error;
  });
  if (problems instanceof Error) return skipped('admission', `you may not look: ${problems.message}`);
  return problems.length === 0
    ? ok('admission', 'every admission policy is there as it was shipped')
    : finding('admission', problems.join('; '), errorCatalogue.ADMISSION_MISSING.hint);
}

/** Where one may not look, the check of the admission policies says so. */
async function mutators(client: KubeClient): Promise<Finding> {
  const found = await foreignMutators(client).catch((error: unknown) => {
    if (error instanceof Error) return error;
    throw error;
  });
  if (found instanceof Error) return skipped('mutating admission', `you may not look: ${found.message}`);
  if (found.length === 0) return ok('mutating admission', 'nothing of others changes what people write');
  return finding(
    'mutating admission',
    `${found.join(', ')} may change what people write before it is checked, a denial into an approval for example`,
    'Leave apiGroup rollcall.dev out of its rules.',
  );
}

type Review = KubeObject<object, { readonly allowed?: boolean }>;

async function mayI(
  client: KubeClient,
  what: { verb: string; resource: Resource; subresource?: string; namespace?: string; name?: string },
): Promise<boolean> {
  const { verb, resource, ...more } = what;
  const resourceAttributes = { verb, group: resource.group, resource: resource.plural, ...more };
  const review = await client.create<Review>(resources.selfSubjectAccessReviews, {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    metadata: {},
    spec: { resourceAttributes },
  });
  return review.status?.allowed ?? false;
}

const { managedClusters, managedClusterSets, clusterRegistrationTokens, approvalPolicies, secrets } =
  resources;

/** What each right lets a person do, in the words of the CLI. */
const rights = [
  { lets: 'see clusters', verb: 'list', resource: managedClusters },
  { lets: 'approve and deny', verb: 'create', resource: managedClusters, subresource: 'accept' },
  { lets: 'revoke and ban', verb: 'create', resource: managedClusters, subresource: 'revoke' },
  { lets: 'replace keys', verb: 'create', resource: managedClusters, subresource: 'replacekey' },
  { lets: 'force deletions', verb: 'create', resource: managedClusters, subresource: 'forcedelete' },
  { lets: 'join sets', verb: 'create', resource: managedClusterSets, subresource: 'join' },
  { lets: 'make tokens', verb: 'create', resource: clusterRegistrationTokens, namespace: 'rollcall-join' },
  { lets: 'write policies', verb: 'create', resource: approvalPolicies },
  ...(
    [
      ['watch', 'rollcall-ops'],
      ['read every stream', 'rollcall-inspector'],
    ] as const
  ).map(
    ([lets, name]) => ({ lets, verb: 'get', resource: secrets, namespace: 'rollcall-system', name }) as const,
  ),
] as const;

async function myRights(client: KubeClient): Promise<Finding> {
  const user = (await userName(client)) ?? 'unknown';
  const answers = await Promise.all(
    rights.map(async ({ lets, ...what }) => ({ lets, isAllowed: await mayI(client, what) })),
  );
  const listed = (isAllowed: boolean) =>
    answers.flatMap((answer) => (answer.isAllowed === isAllowed ? [answer.lets] : [])).join(', ');
  const [may, mayNot] = [listed(true), listed(false)];
  const message = `"${user}" may ${may || 'nothing'}${mayNot === '' ? '' : `; not: ${mayNot}`}`;
  return answers[0]?.isAllowed
    ? ok('rights', message)
    : finding(
        'rights',
        message,
        'Have ClusterRole rollcall-viewer, rollcall-approver or rollcall-admin bound to you.',
      );
}

async function waiting(client: KubeClient): Promise<Finding[]> {
  const all = await client.list<ClusterRegistrationRequest & { metadata: object }>(
    resources.clusterRegistrationRequests,
  );
  return judgeRequests(all, Date.now());
}

async function policies(client: KubeClient): Promise<Finding[]> {
  return judgePolicies(await client.list<ApprovalPolicy & { metadata: object }>(approvalPolicies));
}

async function tokens(client: KubeClient): Promise<Finding> {
  return judgeTokens(
    await client.list<ClusterRegistrationToken & { metadata: object }>(clusterRegistrationTokens),
  );
}

type Cluster = ManagedCluster & { readonly metadata: { readonly name: string } };

const conditionOf = ({ status }: Cluster, wanted: string) =>
  status?.conditions?.find(({ type }) => type === wanted);

/** Nobody wanted that: an object defines no cluster, or the hub itself put one out. */
const unwanted = new Set(['NameReserved', 'IdMismatch', 'IdTaken', 'NameTaken', 'Flooding']);

/** Objects that people wrote and that are no cluster of the hub: no mark of it is on them, so a large fleet is not read for it. */
export async function refusedClusters(client: KubeClient, signal: AbortSignal): Promise<Finding> {
  const ofPeople = await client.list<ManagedCluster & { metadata: object }>(resources.managedClusters, {
    labelSelector: `!${labels.clusterId}`,
    signal,
  });
  const refused = ofPeople.flatMap((cluster) => {
    const accepted = conditionOf(cluster, 'Accepted');
    const isRefused = accepted?.status !== 'True' && unwanted.has(accepted?.reason ?? '');
    return isRefused ? [`${cluster.metadata.name} (${accepted?.reason})`] : [];
  });
  return refused.length === 0
    ? ok('clusters', 'none is refused')
    : finding(
        'clusters',
        `${refused.length} that cannot be as written: ${someNames(refused)}`,
        '`rollcall describe cluster NAME` says why, and what to do.',
      );
}

/** Nobody has claimed it, its request waits, or a person has put it out: it is not to be ready. */
function isAsPeopleWant(cluster: Cluster): boolean {
  const accepted = conditionOf(cluster, 'Accepted');
  const isLeaving = conditionOf(cluster, 'Deleting')?.status === 'True';
  return (
    isLeaving || (accepted !== undefined && accepted.status !== 'True' && !unwanted.has(accepted.reason))
  );
}

const rankOf = (cluster: Cluster): number => (conditionOf(cluster, 'Ready')?.status === 'False' ? 0 : 1);

async function clusters(client: KubeClient): Promise<Finding[]> {
  const all = await client.list<ManagedCluster & { metadata: object }>(resources.managedClusters);
  const clocks = all.flatMap((cluster) => {
    const clock = conditionOf(cluster, 'ClockSynced');
    return clock?.status === 'False' ? [`${cluster.metadata.name}: ${clock.message}`] : [];
  });
  const wanted = all.filter((cluster) => !isAsPeopleWant(cluster));
  const notReady = wanted
    .filter((cluster) => conditionOf(cluster, 'Ready')?.status !== 'True')
    // What is known to be gone first.
    .toSorted((a, b) => rankOf(a) - rankOf(b))
    .map((cluster) => `${cluster.metadata.name} (${conditionOf(cluster, 'Ready')?.reason ?? 'unknown'})`);
  const notIn = all.length - wanted.length;
  const others = notIn === 0 ? '' : `; ${notIn} not in: not claimed yet, waiting, shut out, or leaving`;
  return [
    notReady.length === 0
      ? ok('clusters', `${counted(wanted.length, 'cluster')}, all ready${others}`)
      : finding(
          'clusters',
          `${notReady.length} of ${all.length} not ready: ${someNames(notReady)}`,
          '`rollcall describe cluster NAME` says why, and what to do.',
        ),
    ...(clocks.length === 0
      ? []
      : [finding('clocks of clusters', someNames(clocks), 'Set the clocks that are wrong (NTP).')]),
  ];
}

async function hubInfo(client: KubeClient): Promise<Finding> {
  const info = await findHubInfo(client);
  return info
    ? ok('hub', `hub ${info.hubId}, told to agents as ${info.addresses.join(', ')}`)
    : finding(
        'hub',
        `${client.access.server} has no ConfigMap rollcall-hub in rollcall-system`,
        'Check --kubeconfig and --context, or start a hub here with `rollcall up`.',
      );
}

/**
 * The hub's API server: reached, new enough, our kinds, the admission policies, what this person may, what waits, what is refused.
 * @param workloads - where its pods run
 */
export async function examineKubernetes(
  client: KubeClient,
  workloads: KubeClient = client,
): Promise<readonly Finding[]> {
  const first = await examine('kubernetes', () => version(client));
  if (first.some(({ outcome }) => outcome === 'finding')) return first;
  const rest = await Promise.all([
    examine('clock API server', () => examineClock(client, 'API server')),
    examine('kinds', () => kinds(client)),
    examine('hub', () => hubInfo(client)),
    examine('admission', () => admission(client)),
    examine('mutating admission', () => mutators(client)),
    examine('rights', () => myRights(client)),
    examine('pods', () => examinePods(workloads)),
    examine('keys', () => examineKeys(client, workloads)),
    examine('requests', () => waiting(client)),
    examine('policies', () => policies(client)),
    examine('tokens', () => tokens(client)),
    examine('clusters', () => clusters(client)),
    examine('member access', () => examineMemberApi(client)),
  ]);
  return [...first, ...rest.flat()];
}
