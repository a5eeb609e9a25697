import { RollcallError } from '@rollcall/shared/errors';
import { createKubeClient, type KubeAccess, loadKubeAccess } from '@rollcall/shared/kubernetes';
import { rollcallVersion } from '@rollcall/shared/service/version';
import { type AgentHome, hostedHome } from './agent-home.ts';

/** Which agent outside of its member a person means. */
export interface HostedAgentFlags {
  readonly stateDir?: string;
  readonly hosted?: string;
  readonly hostKubeconfig?: string;
  readonly hostContext?: string;
  readonly hostNamespace?: string;
}

export interface HostedAgent extends AgentHome {
  readonly access: KubeAccess;
  /** For people. */
  readonly place: string;
}

/**
 * The agent with that name in the cluster that its pod is in, as the person who asks may reach it.
 * @returns undefined where none is meant
 * @throws RollcallError USAGE, KUBECONFIG_INVALID, KUBE_CONTEXT_UNKNOWN
 */
export function openHostedAgent(flags: HostedAgentFlags): HostedAgent | undefined {
  const { hosted, hostKubeconfig: path, hostContext: context, hostNamespace } = flags;
  if (hosted === undefined) return undefined;
  if (flags.stateDir !== undefined)
    throw new RollcallError('USAGE', 'give either --hosted or --state-dir: one of them has the keys');
  const access = loadKubeAccess({ path, context });
  const namespace = hostNamespace ?? access.namespace;
  const client = createKubeClient(
    { ...access, namespace },
    { fieldManager: 'rollcall-cli', userAgent: `rollcall/${rollcallVersion}` },
  );
  const home = hostedHome(client, hosted);
  const at = `${access.server} (context "${access.contextName}", user "${access.userName}")`;
  return { ...home, access, place: `keys: ${home.store.place} at ${at}` };
}
