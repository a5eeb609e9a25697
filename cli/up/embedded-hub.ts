import { isIP } from 'node:net';
import { join } from 'node:path';
import type { BusAddress } from '@rollcall/shared/bus';
import { formatHubAddress, parseHubAddress } from '@rollcall/agent';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import { createKubeClient, type KubeClient } from '@rollcall/shared/kubernetes';
import type { RunningService } from '@rollcall/shared/service';
import type { ChildHandle } from './process/child-process.ts';
import { loopbackPorts } from './control-plane/control-plane-ports.ts';
import { type AuditPolicy, type ControlPlane, startControlPlane } from './control-plane/control-plane.ts';
import { checkDiskSpace } from './state/disk-space.ts';
import { untilAdmissionInPlace, untilPeopleAreHeard } from './admission-in-place.ts';
import { refuseHalfRestored } from './state/half-restored.ts';
import { endLeftovers } from './leftovers.ts';
import { applyHubManifests, createDefaults } from './hub-manifests.ts';
import { moveMemberSecrets, sayMoved } from './state/move-member-secrets.ts';
import {
  type HubServicesOptions,
  serviceAccountGroups,
  serviceUser,
  startHubServices,
} from './hub-services.ts';
import { type HubState, openHubState } from './state/hub-state.ts';
import { keepRunning, type KeptRunning } from './process/keep-running.ts';
import { keepWriting, type WritingServer } from './keep-writing.ts';
import { type NatsCluster, startNatsCluster } from './nats/nats-cluster.ts';
import { startNatsServer } from './nats/nats-server.ts';
import { natsServerNames, type ServerCount, serverCountOf, setServerCount } from './state/nats-servers-of.ts';
import { readState } from './private-files.ts';
import { renewHubState } from './state/renew-hub-state.ts';
import { applyRestoredObjects } from './state/restored-objects.ts';
import { renewServerCertificate } from './state/server-certificate.ts';
import { lockState } from './state/state-lock.ts';

export interface EmbeddedHubOptions {
  readonly stateDir: string;
  /** Of the NATS server; remembered, so that tokens that were handed out stay true. Default 4222; 0: any free one. */
  readonly port?: number;
  /** NATS servers; remembered from the first start on, as it cannot be changed. Default: 1. */
  readonly servers?: ServerCount | undefined;
  /** Acknowledged is not kept then (principle 12), so services need `allowUnsafeBus`: for measuring what that costs. */
  readonly withoutSync?: boolean | undefined;
  /** `host:port` that agents are told to use, several for one hub. Default: the loopback address. */
  readonly advertise?: readonly string[];
  /** `host:port` where agents also reach the hub over WebSocket; port 0: any free one, remembered. Default: nowhere. */
  readonly websocket?: string | undefined;
  /** Without, the caller runs the services in processes of their own. */
  readonly withServices?: boolean;
  readonly auditPolicy?: AuditPolicy;
  /** Where a service shall differ from its defaults. */
  readonly settings?: HubServicesOptions['settings'];
  onProgress?(message: string): void;
  /** Whether a NATS server that ends by itself is started again; default: no, and `onUnexpectedExit` is told. */
  readonly keepsNatsRunning?: boolean;
  /** A service cannot go on (RunningService.failed). */
  onServiceFailed?(name: string, why: unknown): void;
  /** A server ended that nobody stopped, or could not be kept running. */
  onUnexpectedExit?(child: ChildHandle, how: string): void;
}

export interface EmbeddedHub extends AsyncDisposable {
  readonly stateDir: string;
  readonly hub: HubState;
  readonly natsAddress: BusAddress;
  /** The process that runs now; of several servers the first. */
  natsServer(): ChildHandle | undefined;
  /** Where the hub has several. */
  readonly natsCluster: NatsCluster | undefined;
  readonly plane: ControlPlane;
  readonly admin: KubeClient;
  readonly addresses: readonly string[];
  readonly services: readonly RunningService[];
  readonly serviceOptions: HubServicesOptions;
  /** Resolves when the API server checks people's decisions; rejects with ADMISSION_MISSING. */
  admissionInPlace(): Promise<void>;
  restartNats(): Promise<void>;
  /** Services first, then what they need. Idempotent. */
  stop(): Promise<void>;
}

const defaultPort = 4222;
/** Far less than the third of its life in which the server's certificate is renewed. */
const renewalCheckMs = 12 * 3_600_000;

/** Of `HOST`, `HOST:PORT` or `[IPV6]:PORT`; the port may be 0, any that is free. */
function hostOf(address: string): string {
  const host = address.replace(/:\d+$/, '').replaceAll(/[[\]]/g, '');
  if (host === '') throw new RollcallError('CONFIG_INVALID', `"${address}" is no HOST:PORT to advertise`);
  return host;
}

function isLocal(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** Where agents were told to reach the hub (`rollcall trust addresses`). */
function toldByOperator(stateDir: string): readonly string[] {
  const path = join(stateDir, 'identities', 'registrar.json');
  return readState<{ hubAddresses?: readonly string[] }>(path)?.hubAddresses ?? [];
}

/** The ports of the servers that agents reach over WebSocket, in the order of their names; none where nobody asked for it. */
async function websocketPorts(stateDir: string, asked: string | undefined): Promise<number[]> {
  if (asked === undefined) return [];
  const port = Number(asked.slice(asked.lastIndexOf(':') + 1));
  if (!Number.isInteger(port) || port > 65_535)
    throw new RollcallError('CONFIG_INVALID', `"${asked}" is no HOST:PORT for WebSocket`);
  const names = natsServerNames(stateDir).map((name) => name.replace('nats-server', 'websocket'));
  const wanted = port === 0 ? {} : { websocket: port };
  const ports = await loopbackPorts(join(stateDir, 'ports.json'), names, wanted);
  return names.map((name) => ports[name] ?? 0);
}

/** Only what is advertised to others is opened to others. */
function listenHost(hosts: readonly string[]): string {
  return hosts.every(isLocal) ? '127.0.0.1' : '0.0.0.0';
}

/**
 * Starts a whole hub on this machine: NATS, etcd, the API server with our kinds and admission policies, and the services, in the state
 * directory. A second start goes on from what is there.
 * @throws RollcallError STATE_IN_USE, STATE_VERSION, STATE_INVALID, PORT_BUSY, BINARY_MISSING, CHILD_FAILED …
 */
export async function startEmbeddedHub(options: EmbeddedHubOptions): Promise<EmbeddedHub> {
  const { stateDir, onProgress = () => undefined, withServices = true } = options;
  const unlock = lockState(stateDir);
  // What has started so far, to be stopped from the newest to the oldest.
  const started: (() => Promise<unknown>)[] = [];
  let stopping: Promise<void> | undefined;
  async function stopAll(): Promise<void> {
    for (const stop of started.toReversed()) await stop().catch(() => undefined);
    unlock();
  }

  try {
    refuseHalfRestored(stateDir);
    checkDiskSpace(stateDir);
    setServerCount(stateDir, options.servers);
    const isCluster = serverCountOf(stateDir) > 1;
    const reaped = await endLeftovers(stateDir);
    if (reaped.length > 0) onProgress(`ended what an earlier run left behind: ${reaped.join(', ')}`);
    const renewed = renewHubState(openHubState(stateDir, Date.now()), stateDir, Date.now(), {
      withWebSocket: options.websocket !== undefined,
    });
    if (renewed.length > 0) onProgress(`gave the rights of this version to: ${renewed.join(', ')}`);
    const hub = openHubState(stateDir, Date.now());
    const portsFile = join(stateDir, 'ports.json');
    const wanted = options.port === undefined || options.port === 0 ? undefined : { nats: options.port };
    const isFirst = options.port === undefined && !remembersPort(portsFile);
    const { nats: port } = await loopbackPorts(
      portsFile,
      ['nats'],
      wanted ?? (isFirst ? { nats: defaultPort } : {}),
    ).catch((thrown: unknown) => {
      if (!isFirst || toRollcallError(thrown).code !== 'PORT_BUSY') throw thrown;
      const message = `port ${defaultPort} is taken by another process: the one of a first start, where --port gives no other`;
      throw new RollcallError('PORT_BUSY', message, { cause: thrown });
    });
    const advertised = options.advertise?.length ? options.advertise : undefined;
    const { websocket } = options;
    const websocketHost = websocket === undefined ? undefined : hostOf(websocket);
    const overWebsocket = await websocketPorts(stateDir, websocket);
    const told = toldByOperator(stateDir);
    const hosts = [
      ...(advertised?.map(hostOf) ?? ['127.0.0.1']),
      ...(websocketHost === undefined ? [] : [websocketHost]),
      ...told.map((address) => parseHubAddress(address).host),
    ];
    const { withoutSync } = options;
    const natsOptions = {
      stateDir,
      port,
      websocketPorts: overWebsocket,
      host: listenHost(hosts),
      advertised: hosts,
      withoutSync,
    };

    onProgress('starting NATS, etcd and the Kubernetes API server');
    let natsCluster: NatsCluster | undefined;
    let keptNats: KeptRunning[] = [];
    let givenUp = 0;
    const startOne = async (): Promise<ChildHandle> => {
      // Read again: keys may have been rolled over since this process began.
      const nowMs = Date.now();
      return (await startNatsServer(openHubState(stateDir, nowMs), { ...natsOptions, nowMs })).server;
    };
    const keep = (first: ChildHandle, start: () => Promise<ChildHandle>): KeptRunning =>
      keepRunning(first, {
        start,
        mayStart: options.keepsNatsRunning === true,
        say: onProgress,
        gaveUp(server, how) {
          givenUp++;
          // Of three, two go on without it, and one cannot.
          if (isCluster && givenUp < 2) onProgress(`${server.name} ended (${how}) and stays away`);
          else options.onUnexpectedExit?.(server, how);
        },
      });
    const startNats = async () => {
      if (isCluster) {
        natsCluster = await startNatsCluster({
          ...natsOptions,
          hub: () => openHubState(stateDir, Date.now()),
        });
        keptNats = natsCluster.nodes.map((node) =>
          keep(node.server(), async () => {
            await node.start();
            return node.server();
          }),
        );
        return;
      }
      keptNats = [keep(await startOne(), startOne)];
    };
    const stopNats = async () => {
      await Promise.all(keptNats.map((server) => server.stop()));
      // Those that were started beside this, as tests do.
      await natsCluster?.stop();
    };
    const restartNats = async () => {
      await stopNats();
      await startNats();
    };
    started.push(stopNats);
    const renewing = setInterval(
      () => renewServerCertificate(openHubState(stateDir, Date.now()), { stateDir, nowMs: Date.now() }),
      renewalCheckMs,
    );
    started.push(async () => clearInterval(renewing));
    let plane: ControlPlane | undefined;
    started.push(async () => plane?.stop());
    const startPlane = async () => {
      plane = await startControlPlane({
        stateDir: join(stateDir, 'kubernetes'),
        withControllerManager: true,
        clusterName: 'rollcall-hub',
        auditPolicy: options.auditPolicy ?? 'none',
        ...(options.onUnexpectedExit ? { onUnexpectedExit: options.onUnexpectedExit } : {}),
      });
      return plane;
    };
    // Both to their end, so that a failure of one leaves nothing of the other behind.
    const [natsOutcome, planeOutcome] = await Promise.allSettled([startNats(), startPlane()]);
    if (natsOutcome.status === 'rejected') throw natsOutcome.reason;
    if (planeOutcome.status === 'rejected') throw planeOutcome.reason;
    const controlPlane = planeOutcome.value;
    const keepsWriting = keepWriting(
      writingServers(stateDir, (index) => keptNats[index]?.restart() ?? Promise.resolve()),
      onProgress,
    );
    started.push(() => keepsWriting.stop());
    const natsAddress = natsCluster?.address ?? { servers: [`127.0.0.1:${port}`], caPem: hub.caPem };
    // Agents elsewhere have no use for the loopback address.
    const overNats = websocketHost === undefined || isLocal(websocketHost) ? natsAddress.servers : [];
    const addresses = [
      ...(advertised ?? (told.length > 0 ? told : overNats)),
      ...overWebsocket.map((one) =>
        formatHubAddress({ host: websocketHost ?? '', port: one, isWebSocket: true }),
      ),
    ];

    onProgress('applying kinds, roles and the admission policies');
    const admin = createKubeClient(controlPlane.access, {
      fieldManager: 'rollcall-up',
      userAgent: 'rollcall-up',
    });
    started.push(async () => admin.close());
    await applyHubManifests(admin, hub, addresses);
    // Before the services look: what people wrote is there again, and says that it is of an older epoch.
    const restored = await applyRestoredObjects(admin, stateDir);
    if (restored.made > 0) onProgress(`made ${restored.made} objects of people again from the backup`);
    for (const why of restored.refused)
      onProgress(`from the backup could not be made again, and stays there: ${why}`);
    for (const said of sayMoved(await moveMemberSecrets(admin))) onProgress(said);
    const serviceOptions: HubServicesOptions = {
      stateDir,
      busServers: natsAddress.servers.join(','),
      userAccess: controlPlane.userAccess,
      settings: options.settings,
    };
    let services: RunningService[] = [];
    if (withServices) {
      onProgress('starting the services');
      services = await startHubServices(serviceOptions);
      started.push(() => Promise.all(services.map((service) => service.stop())));
      for (const { name, failed } of services)
        failed.catch((why: unknown) => options.onServiceFailed?.(name, why));
    }
    await createDefaults(admin);
    return {
      stateDir,
      hub,
      natsAddress,
      natsServer: () => natsCluster?.nodes[0]?.server() ?? keptNats[0]?.server(),
      natsCluster,
      plane: controlPlane,
      admin,
      addresses,
      services,
      serviceOptions,
      async admissionInPlace() {
        const access = controlPlane.userAccess(serviceUser('admission-probe'), serviceAccountGroups);
        const probe = createKubeClient(access, { fieldManager: 'rollcall-up', userAgent: 'rollcall-up' });
        await untilAdmissionInPlace(probe).finally(() => probe.close());
        const approver = services.find(({ name }) => name === 'approver');
        if (approver) await untilPeopleAreHeard(approver);
      },
      restartNats,
      stop: () => (stopping ??= stopAll()),
      [Symbol.asyncDispose]: () => (stopping ??= stopAll()),
    };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

/** Each for itself, where there are several: the others go on meanwhile. */
function writingServers(stateDir: string, restart: (index: number) => Promise<void>): WritingServer[] {
  return natsServerNames(stateDir).map((name, index) => ({
    name,
    directory: join(stateDir, name.replace('nats-server', 'nats'), 'jetstream'),
    logPath: join(stateDir, 'logs', `${name}.log`),
    restart: () => restart(index),
  }));
}

function remembersPort(portsFile: string): boolean {
  return readState<{ nats?: number }>(portsFile)?.nats !== undefined;
}
