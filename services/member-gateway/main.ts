import { createKubeClient, loadKubeAccess } from '@rollcall/shared/kubernetes';
import {
  readIdentity,
  rollcallVersion,
  type RunningService,
  runService,
  type ServiceContext,
  type ServiceWork,
} from '@rollcall/shared/service';
import type { GatewayConfig } from './config.ts';
import { followMembers } from './follow-members.ts';
import { followFrontProxy, type FrontProxyWatch } from './front-proxy.ts';
import { mustEnd } from './judge-request.ts';
import { servePeople } from './serve-people.ts';
import { createOpenStreams } from './open-streams.ts';

export { configSchema } from './config.ts';

async function work(
  { logger, metrics, connectAgain }: ServiceContext,
  config: GatewayConfig,
): Promise<ServiceWork> {
  const client = createKubeClient(loadKubeAccess({ path: config.kubeconfig, context: config.kubeContext }), {
    fieldManager: 'rollcall-member-gateway',
    userAgent: `rollcall-member-gateway/${rollcallVersion}`,
  });
  // What people copy must not stand in the way of what this service is asked about itself.
  const tunnel = await connectAgain();
  const streams = createOpenStreams(tunnel);
  const members = followMembers(client, {
    logger,
    changed(before, now) {
      if (mustEnd(before, now))
        streams.endThose(before.clusterId, 'the hub lets nobody into this cluster any more');
    },
  });
  let frontProxy: FrontProxyWatch | undefined;
  const server = await servePeople(config, { frontProxy: () => frontProxy, members, streams, logger });
  frontProxy = await followFrontProxy(client, { logger, changed: ({ caPem }) => server.trust(caPem) });
  const openNow = () => streams.count({ clusterId: '', person: '' }).inAll;
  metrics.beforeScrape(() => {
    metrics.gauge('rollcall_gateway_streams', openNow());
    metrics.total('rollcall_gateway_stray_frames_total', streams.strayFrames());
  });
  return {
    stats: () => ({ streams: openNow(), strayFrames: streams.strayFrames() }),
    notReady: () =>
      (streams.isConnected() ? undefined : 'the connection for what people ask is away') ??
      members.missing() ??
      (frontProxy?.now() === undefined
        ? 'the API server does not say by which certificate it is known to the APIs behind it (requestheader-client-ca-file)'
        : undefined),
    async drain() {
      streams.stop();
      await Promise.all([server.stop(), members.stop(), frontProxy?.stop()]);
      client.close();
      await tunnel.close();
    },
  };
}

/** Starts the member gateway: people reach the APIs of members through it, by the hub's API server. */
export async function start(config: GatewayConfig, waitsUntil?: AbortSignal): Promise<RunningService> {
  return runService({
    name: 'member-gateway',
    description: 'carries what people ask of the API of a member to its agent',
    config,
    identity: readIdentity(config.identityFile, {}),
    waitsUntil,
    work: (context) => work(context, config),
  });
}
