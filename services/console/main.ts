import { readFileSync } from 'node:fs';
import { type ConsoleHub, serveConsole } from '@rollcall/console';
import type { BusAddress } from '@rollcall/shared/bus';
import type { KubeAccess } from '@rollcall/shared/kubernetes';
import { RollcallError } from '@rollcall/shared/errors';
import { inClusterServer } from '@rollcall/shared/kubernetes/in-cluster';
import { busAddress, createLogger, serveHealth } from '@rollcall/shared/service';
import type { ConsoleConfig } from './config.ts';

export { configSchema } from './config.ts';

/** Where the hub is, and as whom: a person who has signed in. */
export interface SignedIn {
  readonly access: KubeAccess;
  /** Whose credentials are read there, that person may read. */
  readonly bus: BusAddress;
}

const minuteMs = 60_000;
const limits = { ofPerson: 3, idleMs: 30 * minuteMs, longestMs: 12 * 60 * minuteMs, askAgainMs: minuteMs };

/**
 * Starts the console of a cluster.
 * @param openHub - what the command line does with a kubeconfig, done with a token
 * @throws RollcallError CONFIG_INVALID; as serveConsole
 */
export async function start(
  config: ConsoleConfig,
  openHub: (as: SignedIn) => ConsoleHub,
): Promise<{ readonly port: number; readonly failed: Promise<never>; stop(): Promise<void> }> {
  const { logLevel: level, logFile: file, healthPort, healthAddress, publicHost } = config;
  const logger = createLogger({ service: 'console', level, ...(file === undefined ? {} : { file }) });
  const apiServer = apiServerOf(config);
  const names = { namespace: 'default', clusterName: 'hub', contextName: publicHost, userName: '' };
  const bus = busAddress(config);
  await using started = new AsyncDisposableStack();
  const console = started.use(
    await serveConsole({
      publicHost,
      isBehindProxy: config.behindProxy,
      address: config.servingAddress,
      port: config.servingPort,
      certFile: config.servingCertFile,
      keyFile: config.servingKeyFile,
      limits: { ...limits, inAll: config.sessions },
      logger,
      openHub: (token) => openHub({ access: { ...apiServer, ...names, token }, bus }),
    }),
  );
  if (healthPort !== undefined) {
    // It waits for nobody: who signs in is told what does not answer.
    const options = {
      port: healthPort,
      address: healthAddress,
      notReady: () => undefined,
      metrics: () => '',
    };
    const health = await serveHealth(options);
    started.defer(() => void health.server.close());
  }
  logger.info({ port: console.port }, 'service started');
  const running = started.move();
  return {
    port: console.port,
    failed: Promise.withResolvers<never>().promise,
    async stop() {
      await running.disposeAsync();
      logger.info({}, 'service stopped');
    },
  };
}

/** @throws RollcallError CONFIG_INVALID */
function apiServerOf({
  apiServer,
  apiServerCaFile: caFile,
}: ConsoleConfig): Pick<KubeAccess, 'server' | 'caPem'> {
  const server = apiServer ?? inClusterServer();
  if (server === undefined)
    throw new RollcallError('CONFIG_INVALID', 'apiServer: where is it? This is no pod');
  try {
    return { server, caPem: readFileSync(caFile, 'utf8') };
  } catch (cause) {
    throw new RollcallError('CONFIG_INVALID', `cannot read the CA file "${caFile}"`, { cause });
  }
}
