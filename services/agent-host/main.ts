import { toRollcallError } from '@rollcall/shared/errors';
import { type KubeAccess, loadKubeAccess, resources, watchResource } from '@rollcall/shared/kubernetes';
import { createKubeClient } from '@rollcall/shared/kubernetes/client';
import { namespaces } from '@rollcall/shared/resources';
import { busAddress, readIdentity, type RunningService, runService } from '@rollcall/shared/service';
import { rollcallVersion } from '@rollcall/shared/service/version';
import type { HostConfig } from './config.ts';
import { followClusters } from './hear-cluster-events.ts';
import { createHostedMembers } from './hosted-members.ts';
import type { RenderAgent } from './install-agent.ts';
import { createMemberAccess } from './member-access.ts';
import type { Secret } from './read-kubeconfig-secret.ts';
import { createAddressJudge, type Endpoint, endpointOf } from './refused-address.ts';

export { configSchema, type HostConfig } from './config.ts';
export type { RenderAgent } from './install-agent.ts';

/** Where the hub itself is: no member can be there. */
function hubEndpoints(access: KubeAccess, busServers: readonly string[]): Endpoint[] {
  return [
    endpointOf(new URL(access.server), 443),
    ...busServers.map((server) => endpointOf(new URL(server.replace(/^(\w+:\/\/)?/, 'https://')), 4222)),
  ];
}

/**
 * Runs the agent host: reaches the members whose clusters name a kubeconfig Secret.
 * @param render - the manifests of an agent, for members with mode Pull
 */
export async function start(
  config: HostConfig,
  render: RenderAgent,
  waitsUntil?: AbortSignal,
): Promise<RunningService> {
  const identity = readIdentity(config.identityFile, {});
  const access = loadKubeAccess({ path: config.kubeconfig, context: config.kubeContext });
  const bus = busAddress(config);
  const judge = createAddressJudge({
    allowLoopback: config.allowLoopbackMembers,
    hub: hubEndpoints(access, config.busServers),
    refusedRanges: config.refusedRanges,
  });
  return runService({
    name: 'agent-host',
    description: 'reaches members by the kubeconfigs that people put into rollcall-kubeconfigs',
    config,
    identity,
    waitsUntil,
    async work({ nc, log, logger, metrics }) {
      const client = createKubeClient(access, {
        fieldManager: 'rollcall-agent-host',
        userAgent: `rollcall-agent-host/${rollcallVersion}`,
      });
      const ending = new AbortController();
      const { signal } = ending;
      const members = createHostedMembers(log, {
        client,
        hub: config.busServers,
        hubCaPem: bus.caPem,
        agentImage: config.agentImage,
        render,
        accessOf: createMemberAccess(judge),
        nowMs: Date.now,
        logger,
      });
      // First the Secrets: whatever changes after a member was looked at is then a change that is heard.
      const watches = [namespaces.kubeconfigs, namespaces.join, namespaces.agents].map((namespace) => {
        const synced = Promise.withResolvers<void>();
        signal.addEventListener('abort', () => synced.resolve(), { once: true });
        const watching = watchResource<Secret>(client, resources.secrets, {
          namespace,
          signal,
          onEvent: ({ kind, object }) =>
            members.secretChanged({ namespace, name: object.metadata.name, isGone: kind === 'deleted' }),
          onSynced: () => synced.resolve(),
          onError: (error) =>
            logger.warn(
              { err: toRollcallError(error), object: `secrets in ${namespace}` },
              'watch was interrupted',
            ),
        });
        return { synced: synced.promise, watching };
      });
      const following = Promise.all(watches.map(({ synced }) => synced)).then(() =>
        followClusters(nc, { log, logger, signal, look: (clusterId) => members.look(clusterId) }),
      );
      metrics.beforeScrape(() => metrics.gauge('rollcall_agent_host_members', members.count()));
      return {
        stats: () => ({ members: members.count() }),
        async drain() {
          ending.abort();
          await Promise.all([members.stop(), following, ...watches.map(({ watching }) => watching)]);
          client.close();
        },
      };
    },
  });
}
