import type { KubeClient, KubeObject, Resource } from '@rollcall/shared/kubernetes';

const selfSubjectReviews: Resource = {
  group: 'authentication.k8s.io',
  version: 'v1',
  plural: 'selfsubjectreviews',
  kind: 'SelfSubjectReview',
  namespaced: false,
};

type SelfSubjectReview = KubeObject<never, { readonly userInfo?: { readonly username?: string } }>;

/** Who we are to the API server: a kubeconfig's user name is only a label of its own. */
export async function userName(client: Pick<KubeClient, 'create'>): Promise<string | undefined> {
  const review: SelfSubjectReview = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'SelfSubjectReview',
    metadata: {},
  };
  const { status } = await client.create(selfSubjectReviews, review);
  return status?.userInfo?.username;
}
