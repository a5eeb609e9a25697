import { join } from 'node:path';
import type { BusAddress } from '@rollcall/shared/bus';
import { createKubeClient, type KubeClient } from '@rollcall/shared/kubernetes';
import type { RunningService } from '@rollcall/shared/service';
import type { ChildHandle } from './process/child-process.ts';
import {
  type AuditPolicy,
  type ControlPlane,
  type ControlPlaneOptions,
  startControlPlane,
} from './control-plane/control-plane.ts';
import { checkDiskSpace } from './state/disk-space.ts';
import { untilAdmissionInPlace, untilPeopleAreHeard } from './admission-in-place.ts';
import { refuseHalfRestored } from './state/half-restored.ts';
import { type AddressOptions, hubAddresses } from './hub-addresses.ts';
import { endLeftovers } from './leftovers.ts';
import { announceMemberApi, prepareMemberApi, withdrawMemberApi } from './member-api.ts';
import { applyHubManifests, createDefaults } from './hub-manifests.ts';
import { moveMemberSecrets, sayMoved } from './state/upgrade-member-secrets.ts';
import {
  type HubServicesOptions,
  serviceAccountGroups,
  serviceUser,
  startHubServices,
} from './hub-services.ts';
import { type HubState, openHubState } from './state/hub-state.ts';
import { createHubNats } from './nats/hub-nats.ts';
import type { NatsCluster } from './nats/nats-cluster.ts';
import { type ServerCount, setServerCount } from './state/nats-servers-of.ts';
import { upgradeHubState } from './state/upgrade-hub-state.ts';
import { applyRestoredObjects } from './state/restored-objects.ts';
import { applyTokenNamespaces } from './token-namespaces.ts';
import { lockStateOnceFree } from './state/state-lock.ts';

export interface EmbeddedHubOptions extends AddressOptions {
  readonly stateDir: string;
  /** NATS servers; remembered from the first start on, as it cannot be changed. Default: 1. */
  readonly servers?: ServerCount | undefined;
  /** Where registration tokens count, as given at each start. Default: rollcall-join. */
  readonly tokenNamespaces?: readonly string[] | undefined;
  /** Acknowledged is not kept then (principle 12), so services need `allowUnsafeBus`: for measuring what that costs. */
  readonly withoutSync?: boolean | undefined;
  /** Without, the caller runs the services in processes of their own. */
  readonly withServices?: boolean;
  readonly auditPolicy?: AuditPolicy;
  /** Default: one of its own, which ends with the hub. */
  readonly startPlane?: (options: ControlPlaneOptions) => Promise<ControlPlane>;
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

/**
 * Starts a whole hub on this machine: NATS, etcd, the API server with our kinds and admission policies, and the services, in the state
 * directory. A second start goes on from what is there.
 * @throws RollcallError STATE_IN_USE, STATE_VERSION, STATE_INVALID, PORT_BUSY, BINARY_MISSING, CHILD_FAILED …
 */
export async function startEmbeddedHub(options: EmbeddedHubOptions): Promise<EmbeddedHub> {
  const { stateDir, onProgress = () => undefined, withServices = true } = options;
  const unlock = await lockStateOnceFree(stateDir, onProgress);
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
    const reaped = await endLeftovers(stateDir);
    if (reaped.length > 0) onProgress(`ended what an earlier run left behind: ${reaped.join(', ')}`);
    const renewed = upgradeHubState(stateDir, Date.now(), {
      withWebSocket: options.websocket !== undefined,
    });
    if (renewed.length > 0) onProgress(`gave the rights of this version to: ${renewed.join(', ')}`);
    const hub = openHubState(stateDir, Date.now());
    const reached = await hubAddresses(stateDir, options);
    const nats = createHubNats({
      stateDir,
      addresses: reached,
      withoutSync: options.withoutSync,
      keepsRunning: options.keepsNatsRunning === true,
      say: onProgress,
      onUnexpectedExit: options.onUnexpectedExit,
    });

    onProgress('starting NATS, etcd and the Kubernetes API server');
    started.push(() => nats.stop());
    let plane: ControlPlane | undefined;
    started.push(async () => plane?.stop());
    const startPlane = async () => {
      plane = await (options.startPlane ?? startControlPlane)({
        stateDir: join(stateDir, 'kubernetes'),
        withControllerManager: true,
        withWorkloads: false,
        clusterName: 'rollcall-hub',
        auditPolicy: options.auditPolicy ?? 'none',
        ...(options.onUnexpectedExit ? { onUnexpectedExit: options.onUnexpectedExit } : {}),
      });
      return plane;
    };
    // Both to their end, so that a failure of one leaves nothing of the other behind.
    const [natsOutcome, planeOutcome] = await Promise.allSettled([nats.start(), startPlane()]);
    if (natsOutcome.status === 'rejected') throw natsOutcome.reason;
    if (planeOutcome.status === 'rejected') throw planeOutcome.reason;
    const controlPlane = planeOutcome.value;
    const keepsWriting = nats.keepWriting();
    started.push(() => keepsWriting.stop());
    const natsAddress = nats.address();
    const addresses = reached.forAgents(natsAddress.servers);

    onProgress('applying kinds, roles and the admission policies');
    const admin = createKubeClient(controlPlane.access, {
      fieldManager: 'rollcall-up',
      userAgent: 'rollcall-up',
    });
    started.push(async () => admin.close());
    await applyHubManifests(admin, hub, addresses);
    const settings = await applyTokenNamespaces(admin, options);
    // Before the services look: what people wrote is there again, and says that it is of an older epoch.
    const restored = await applyRestoredObjects(admin, stateDir);
    if (restored.made > 0) onProgress(`made ${restored.made} objects of people again from the backup`);
    for (const why of restored.refused)
      onProgress(`from the backup could not be made again, and stays there: ${why}`);
    for (const said of sayMoved(await moveMemberSecrets(admin))) onProgress(said);
    const memberApi = await prepareMemberApi(stateDir);
    const serviceOptions: HubServicesOptions = {
      stateDir,
      memberGateway: memberApi.settings,
      busServers: natsAddress.servers.join(','),
      userAccess: controlPlane.userAccess,
      settings,
    };
    let services: RunningService[] = [];
    if (withServices) {
      onProgress('starting the services');
      services = await startHubServices(serviceOptions);
      started.push(() => Promise.all(services.map((service) => service.stop())));
      for (const { name, failed } of services)
        failed.catch((why: unknown) => options.onServiceFailed?.(name, why));
      await announceMemberApi(admin, memberApi);
    } else await withdrawMemberApi(admin);
    await createDefaults(admin);
    return {
      stateDir,
      hub,
      natsAddress,
      natsServer: () => nats.server(),
      natsCluster: nats.cluster(),
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
      restartNats: () => nats.restart(),
      stop: () => (stopping ??= stopAll()),
      [Symbol.asyncDispose]: () => (stopping ??= stopAll()),
    };
  } catch (error) {
    await stopAll();
    throw error;
  }
}
