import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { kubeApiError } from '@rollcall/shared/kubernetes/kube-api-error';
import { type Finding, finding, ok, skipped } from './finding.ts';

const check = 'member access';
const path = '/apis/proxy.rollcall.dev/v1alpha1';

type ApiService = KubeObject<
  unknown,
  { conditions?: { type: string; status: string; reason?: string; message?: string }[] }
>;

/** @returns what the API server says of its way to the member gateway; empty for who may not look */
async function whyNot(client: KubeClient): Promise<string> {
  const found = await client
    .get<ApiService>(resources.apiServices, { name: 'v1alpha1.proxy.rollcall.dev' })
    .catch(() => undefined);
  const available = found?.status?.conditions?.find(({ type }) => type === 'Available');
  return available?.status === 'False' ? `: ${available.message ?? available.reason}` : '';
}

/** What the API server says of the member gateway; `absent`: it was told of none. */
async function memberApi(client: KubeClient): Promise<'absent' | 'reached' | 'not reached'> {
  const { status, body } = await client.raw(path);
  if (status === 404) return 'absent';
  if (status === 200) return 'reached';
  // It answers for what is behind it.
  if (status === 503) return 'not reached';
  throw kubeApiError(status, body, `GET ${path}`);
}

/** Whether the hub has a member gateway: the API server lists what is announced to it. */
export const hasMemberApi = async (client: KubeClient): Promise<boolean> =>
  (await memberApi(client)) !== 'absent';

/** Whether people can reach members by way of the hub, as far as that is up to the hub. */
export async function examineMemberApi(client: KubeClient): Promise<Finding> {
  switch (await memberApi(client)) {
    case 'reached':
      return ok(check, 'the API server reaches the member gateway');
    case 'absent':
      return skipped(check, 'this hub has no member gateway: nobody reaches members through it');
    case 'not reached':
      return finding(
        check,
        `the API server does not reach the member gateway${await whyNot(client)}`,
        'Nobody reaches members, and Kubernetes empties no namespace of the hub meanwhile: `kubectl describe apiservice v1alpha1.proxy.rollcall.dev` says why. It finds the gateway by the Service rollcall-member-gateway in rollcall-system; where the pods of the hub are in another cluster, by memberGateway.externalName (docs/member-access.md).',
      );
  }
}
