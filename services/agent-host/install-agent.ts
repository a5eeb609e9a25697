import { RollcallError } from '@rollcall/shared/errors';
import { applyManifests, type KubeAccess } from '@rollcall/shared/kubernetes';
import { createKubeClient } from '@rollcall/shared/kubernetes/client';
import { memberClientOptions } from './hosted-agent.ts';
import type { DesiredHosting } from './desired-hosting.ts';
import type { MemberSecret } from './read-kubeconfig-secret.ts';

/** What the manifests of an agent are filled in with. */
export interface AgentManifestValues {
  readonly hub: readonly string[];
  readonly trust: { readonly caPem: string };
  readonly token: string;
  readonly image: string;
  readonly clusterName: string;
  readonly clientId: string | undefined;
}
export type RenderAgent = (values: AgentManifestValues) => string;

/**
 * Installs an agent in a member: the very objects that a person would apply there. What is there already and equal is left alone.
 * @throws RollcallError TOKEN_INVALID, MEMBER_KUBECONFIG_REFUSED where the Secret does not say which hub; KubeApiError
 */
export async function installAgent(of: {
  access: KubeAccess;
  secret: MemberSecret;
  hosting: Pick<DesiredHosting, 'clusterName' | 'clientId'>;
  image: string;
  render: RenderAgent;
}): Promise<void> {
  const { access, secret, hosting, image, render } = of;
  const { token, hub, caPem } = secret;
  if (token === undefined) throw new RollcallError('TOKEN_INVALID', 'there is no token for the agent');
  if (hub === undefined || caPem === undefined) {
    throw new RollcallError(
      'MEMBER_KUBECONFIG_REFUSED',
      'the Secret has a token and does not say how members reach the hub (hub, caBundle)',
    );
  }
  const { clusterName, clientId } = hosting;
  const manifest = render({ hub: hub.split(','), trust: { caPem }, token, image, clusterName, clientId });
  const member = createKubeClient(access, memberClientOptions);
  try {
    await applyManifests(member, [manifest]);
  } finally {
    member.close();
  }
}
