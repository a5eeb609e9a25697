import { join } from 'node:path';
import type { BusAddress } from '@rollcall/shared/bus';
import type { HubAddresses } from '../hub-addresses.ts';
import { keepWriting } from '../keep-writing.ts';
import type { ChildHandle } from '../process/child-process.ts';
import { keepRunning, type KeptRunning } from '../process/keep-running.ts';
import { openHubState } from '../state/hub-state.ts';
import { natsServerNames, serverCountOf } from '../state/nats-servers-of.ts';
import { renewServerCertificate } from '../state/server-certificate.ts';
import { type NatsCluster, startNatsCluster } from './nats-cluster.ts';
import { startNatsServer } from './nats-server.ts';

export interface HubNatsOptions {
  readonly stateDir: string;
  readonly addresses: HubAddresses;
  /** Acknowledged is not kept then (principle 12). */
  readonly withoutSync: boolean | undefined;
  /** Whether a server that ends by itself is started again. */
  readonly keepsRunning: boolean;
  say(message: string): void;
  /** A server ended that nobody stopped, or could not be kept running. */
  onUnexpectedExit?: ((server: ChildHandle, how: string) => void) | undefined;
}

/** The NATS server, or the three of them, of a hub on this machine. */
export interface HubNats {
  address(): BusAddress;
  /** The process that runs now; of several servers the first. */
  server(): ChildHandle | undefined;
  /** Where the hub has several. */
  cluster(): NatsCluster | undefined;
  /**
   * Starts all, and makes the streams.
   * @throws RollcallError BINARY_MISSING, CHILD_FAILED, PORT_BUSY, BUS_UNREACHABLE
   */
  start(): Promise<void>;
  restart(): Promise<void>;
  stop(): Promise<void>;
  /** From here on a server that gives a stream up, as on a full disk, is started again when there is room. */
  keepWriting(): { stop(): Promise<void> };
}

/** Far less than the third of its life in which the server's certificate is renewed. */
const renewalCheckMs = 12 * 3_600_000;

/** Nothing runs until it is told to start; each start reads the keys again, which may have been rolled over since. */
export function createHubNats(options: HubNatsOptions): HubNats {
  const { stateDir, addresses, say } = options;
  const { port, websocketPorts, listenHost: host, hosts: advertised } = addresses;
  const settings = { stateDir, port, websocketPorts, host, advertised, withoutSync: options.withoutSync };
  const isCluster = serverCountOf(stateDir) > 1;
  let cluster: NatsCluster | undefined;
  let kept: KeptRunning[] = [];
  let givenUp = 0;
  let renewing: NodeJS.Timeout | undefined;

  async function startOne(): Promise<ChildHandle> {
    const nowMs = Date.now();
    return (await startNatsServer(openHubState(stateDir, nowMs), { ...settings, nowMs })).server;
  }
  function keep(first: ChildHandle, again: () => Promise<ChildHandle>): KeptRunning {
    return keepRunning(first, {
      start: again,
      mayStart: options.keepsRunning,
      say,
      gaveUp(server, how) {
        givenUp++;
        // Of three, two go on without it, and one cannot.
        if (isCluster && givenUp < 2) say(`${server.name} ended (${how}) and stays away`);
        else options.onUnexpectedExit?.(server, how);
      },
    });
  }
  async function start(): Promise<void> {
    renewing ??= setInterval(
      () => renewServerCertificate(openHubState(stateDir, Date.now()), { stateDir, nowMs: Date.now() }),
      renewalCheckMs,
    );
    if (!isCluster) {
      kept = [keep(await startOne(), startOne)];
      return;
    }
    cluster = await startNatsCluster({ ...settings, hub: () => openHubState(stateDir, Date.now()) });
    kept = cluster.nodes.map((node) =>
      keep(node.server(), async () => {
        await node.start();
        return node.server();
      }),
    );
  }
  async function stopServers(): Promise<void> {
    await Promise.all(kept.map((server) => server.stop()));
    // Those that were started beside this, as tests do.
    await cluster?.stop();
  }
  return {
    address: () =>
      cluster?.address ?? {
        servers: [`127.0.0.1:${port}`],
        caPem: openHubState(stateDir, Date.now()).caPem,
      },
    server: () => cluster?.nodes[0]?.server() ?? kept[0]?.server(),
    cluster: () => cluster,
    start,
    async restart() {
      await stopServers();
      await start();
    },
    async stop() {
      clearInterval(renewing);
      await stopServers();
    },
    keepWriting() {
      // Each for itself, where there are several: the others go on meanwhile.
      const servers = natsServerNames(stateDir).map((name, index) => ({
        name,
        directory: join(stateDir, name.replace('nats-server', 'nats'), 'jetstream'),
        logPath: join(stateDir, 'logs', `${name}.log`),
        restart: async () => kept[index]?.restart(),
      }));
      return keepWriting(servers, say);
    },
  };
}
