import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type BusAddress, connectBus } from '@rollcall/shared/bus';
import type { ChildHandle } from '../process/child-process.ts';
import { loopbackPorts } from '../loopback-ports.ts';
import type { HubState } from '../state/hub-state.ts';
import { launchNatsServer, makeStreams, setupUser } from './nats-server.ts';
import { natsServerNames } from '../state/nats-servers-of.ts';
import { certificateFiles, writeServerCertificate } from '../state/server-certificate.ts';

/** One of several servers. */
export interface NatsNode {
  readonly name: string;
  readonly port: number;
  /** The process that runs now, or ran last. */
  server(): ChildHandle;
  /** Again, after it ended. Ready when it lets somebody in, which needs none of the others. */
  start(): Promise<void>;
}

/** The servers of a hub that can lose one of them and go on: streams are kept by all (principle 13). */
export interface NatsCluster {
  readonly address: BusAddress;
  readonly nodes: readonly NatsNode[];
  /** Resolves when the streams can be written, which takes two of three. */
  untilStreams(): Promise<void>;
  stop(): Promise<void>;
}

/** From the start of all until they have agreed who leads. */
const agreedWithinMs = 60_000;

/**
 * Starts as many servers as the hub has, and makes their streams.
 * @param options.hub - read at each start: keys roll over
 * @throws RollcallError BINARY_MISSING, CHILD_FAILED, PORT_BUSY, BUS_UNREACHABLE
 */
export async function startNatsCluster(options: {
  stateDir: string;
  hub: () => HubState;
  /** Of the first server. */
  port: number;
  /** One a server, or none. */
  websocketPorts?: readonly number[];
  host?: string;
  advertised: readonly string[];
  withoutSync?: boolean | undefined;
}): Promise<NatsCluster> {
  const { stateDir, host = '127.0.0.1', withoutSync } = options;
  const names = natsServerNames(stateDir);
  const portNames = names.map((name) => name.replace('nats-server', 'nats'));
  const [first = '', ...others] = portNames;
  const routeNames = portNames.map((name) => `${name}-route`);
  const drawn = await loopbackPorts(join(stateDir, 'ports.json'), [...others, ...routeNames]);
  const ports: Record<string, number> = { ...drawn, [first]: options.port };
  const portOf = (name: string) => ports[name] ?? 0;
  const { caPem } = options.hub();
  const user = setupUser(stateDir);
  const address = { servers: portNames.map((name) => `127.0.0.1:${portOf(name)}`), caPem };
  const { caFile } = certificateFiles(stateDir);
  writeServerCertificate(options.hub(), { ...options, nowMs: Date.now() });

  function createNode(name: string, index: number): NatsNode {
    let server: ChildHandle | undefined;
    const port = portOf(portNames[index] ?? '');
    async function letsIn(): Promise<boolean> {
      const nc = await connectBus({ servers: [`127.0.0.1:${port}`], caPem }, user, 'setup');
      await nc.close();
      return true;
    }
    return {
      name,
      port,
      server() {
        if (server) return server;
        throw new Error(`${name} was never started`);
      },
      async start() {
        const cluster = {
          serverName: `hub-${index + 1}`,
          routePort: portOf(routeNames[index] ?? ''),
          routes: routeNames.map((route) => `127.0.0.1:${portOf(route)}`),
          caFile,
          isToldToClients: true,
        };
        server = await launchNatsServer(options.hub(), {
          stateDir,
          name,
          host,
          port,
          websocketPort: options.websocketPorts?.[index],
          cluster,
          withoutSync,
          isReady: letsIn,
        });
      },
    };
  }

  const nodes = names.map(createNode);
  async function untilStreams(): Promise<void> {
    const deadlineMs = performance.now() + agreedWithinMs;
    for (;;) {
      try {
        await makeStreams(address, user, nodes.length);
        return;
      } catch (thrown) {
        if (performance.now() > deadlineMs) throw thrown;
        await delay(200);
      }
    }
  }
  async function stop(): Promise<void> {
    const started = await Promise.allSettled(nodes.map(async (node) => node.server()));
    await Promise.all(started.map((one) => (one.status === 'fulfilled' ? one.value.stop() : undefined)));
  }
  try {
    const outcomes = await Promise.allSettled(nodes.map((node) => node.start()));
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
    await untilStreams();
  } catch (error) {
    await stop();
    throw error;
  }
  return { address, nodes, untilStreams, stop };
}
