import { connectBus } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import { findHubInfo } from '@rollcall/shared/hub';
import type { KubeObject } from '@rollcall/shared/kubernetes';
import { decodeJwt } from '@rollcall/shared/trust';
import { openHubAnywhere } from '../../install/hub/hub-in-pods.ts';
import { type HubPlacesFlags, openHubPlaces } from '../../install/hub/hub-places.ts';
import { statefulSets } from '../../install/workloads.ts';
import { withProgress } from '../../terminal/progress.ts';
import type { HubFiles } from '../../trust/hub-files.ts';
import type { CheckedBackup } from '../read-backup.ts';
import { checkRoomOnServers } from '../refill-streams.ts';
import { withHowToEmpty } from './empty-volumes.ts';
import { servicesThatGoOn } from './refuse-while-services-write.ts';

const lookupWithinMs = 5000;
const statefulSet = { name: 'rollcall-nats', namespace: 'rollcall-system' };

/** What the cluster says of its hub to whoever has no keys. */
export interface HubThere {
  /** 0: it says nothing of one. */
  readonly epoch: number;
  /** How many NATS servers there are to be; undefined: there are none that could be filled. */
  readonly servers: number | undefined;
}

export async function hubThere(flags: HubPlacesFlags): Promise<HubThere> {
  const places = openHubPlaces(flags);
  try {
    const info = await findHubInfo(places.hub);
    const found =
      info && (await places.workloads.get<KubeObject<{ replicas?: number }>>(statefulSets, statefulSet));
    return { epoch: info?.epoch ?? 0, servers: found && (found.spec?.replicas ?? 1) };
  } finally {
    places.close();
  }
}

/** Whom the servers refuse. @returns undefined: they do not say */
async function askAgentClaims({ address, read }: HubFiles): Promise<string | undefined> {
  const nc = await connectBus(address, read('account-controller').sys, 'claims');
  const subject = `$SYS.REQ.ACCOUNT.${read('hub').keys.agents}.CLAIMS.LOOKUP`;
  try {
    const claims = (await nc.request(subject, '', { timeout: lookupWithinMs })).string();
    return decodeJwt(claims) === undefined ? undefined : claims;
  } catch (cause) {
    throw new RollcallError('BUS_UNREACHABLE', 'the servers do not say whom they refuse', { cause });
  } finally {
    await nc.close();
  }
}

/** What is there of an installed hub. */
export interface Found {
  /** Services that have their history, and so need no backup of it. */
  readonly goOn: readonly string[];
  readonly epoch: number;
  readonly servers: number;
  /** Whom the servers refuse. */
  readonly agentClaims?: string | undefined;
}

/**
 * Looks before anything is stopped or written; servers that have another history are left alone.
 * @param options.directory - with the keys
 * @returns undefined: no hub is installed
 * @throws RollcallError STATE_NOT_EMPTY
 */
export async function lookBefore(
  backup: CheckedBackup,
  { directory, flags, there }: { directory: string; flags: HubPlacesFlags; there: HubThere },
): Promise<Found | undefined> {
  const { epoch, servers } = there;
  if (servers === undefined) return undefined;
  const { files, close } = await openHubAnywhere(directory, flags, { restoring: true });
  try {
    const { address } = files;
    const goOn = await withProgress('asking the services', servicesThatGoOn(directory, address));
    if (goOn.length > 0) return { goOn, epoch, servers };
    await checkRoomOnServers(backup, { address, directory, hub: files.read('hub') }).catch(
      (error: unknown) => {
        throw withHowToEmpty(error, servers, { code: 'STATE_NOT_EMPTY', also: ', and nothing was changed' });
      },
    );
    return { goOn, epoch, servers, agentClaims: await askAgentClaims(files) };
  } finally {
    close();
  }
}
