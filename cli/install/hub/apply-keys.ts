import { applyManifests, type KubeObject } from '@rollcall/shared/kubernetes';
import { addressesOf } from '../../agent/joining-flags.ts';
import { say } from '../../terminal/output.ts';
import { openHubFiles } from '../../trust/hub-files.ts';
import { noteAddresses } from '../../trust/tell-addresses.ts';
import { whoRotates } from '../../trust/who-rotates.ts';
import { serverCountFlag, serverCountOf, setServerCount } from '../../up/state/nats-servers-of.ts';
import { forwardSecrets, hubKeys } from './hub-keys.ts';
import { hubNamespaces } from './hub-objects.ts';
import type { HubPlaces } from './hub-places.ts';
import type { HubValues } from './hub-values.ts';

const namespace = 'rollcall-system';

/** What flags say of the keys. */
export interface KeyFlags {
  readonly keys: string;
  readonly servers?: string;
  readonly onlyKeys?: boolean;
}

/** Where agents reach the hub. */
export interface Addresses {
  /** As it is installed now; none where there is no hub yet. */
  readonly known: readonly string[];
  /** As they are given, else as they are known. */
  readonly advertised: readonly string[];
}

/** What the keys give: Secrets, and what is public of them, for the values. */
interface MadeKeys {
  readonly hub: HubValues['hub'];
  /** Where people are. */
  readonly ofHub: readonly KubeObject[];
  /** Where the pods are. */
  readonly ofWorkloads: readonly KubeObject[];
  readonly secrets: number;
}

/**
 * Makes the keys in a directory, or takes those that are there; applies nothing.
 * @throws as hubKeys
 */
export async function makeKeys(
  places: HubPlaces,
  flags: KeyFlags,
  { known, advertised, nats }: Addresses & { nats: HubValues['nats'] },
): Promise<MadeKeys> {
  const addresses = addressesOf(advertised);
  const hosts = addresses.map(({ host }) => host);
  const websocket = addresses.some(({ isWebSocket }) => isWebSocket);
  if (isMoved({ known, advertised }))
    noteAddresses(openHubFiles(flags.keys), advertised, await whoRotates(flags.keys, places.hub));
  setServerCount(flags.keys, flags.servers === undefined ? undefined : serverCountFlag(flags.servers));
  const {
    hub,
    secrets,
    peoplesSecrets,
    digest,
    memberGatewayCa = '',
  } = hubKeys(flags.keys, {
    hosts,
    nats,
    withWebSocket: websocket,
  });
  const { hubId: id, caPem: caBundle, caCertHash } = hub;
  return {
    hub: {
      id,
      addresses: advertised.join(','),
      caBundle,
      caCertHash,
      epoch: String(hub.epoch),
      keys: digest,
      memberGatewayCa: Buffer.from(memberGatewayCa).toString('base64'),
      servers: serverCountOf(flags.keys),
      websocket,
    },
    // The namespace of tokens belongs to the release, where Helm installs.
    ofHub: [...hubNamespaces({ kubernetes: !flags.onlyKeys }), ...peoplesSecrets],
    ofWorkloads: [
      ...hubNamespaces({ kubernetes: false }),
      ...secrets,
      ...(places.areApart ? forwardSecrets(peoplesSecrets) : []),
    ],
    secrets: secrets.length + 1,
  };
}

const isMoved = ({ known, advertised }: Addresses): boolean =>
  known.length > 0 && known.toSorted().join() !== advertised.toSorted().join();

/**
 * Makes the keys, or takes those that are there, and applies their Secrets.
 * @returns what is public of them, for the values
 * @throws as hubKeys; KubeApiError
 */
export async function applyKeys(
  places: HubPlaces,
  flags: KeyFlags,
  addresses: Addresses & { nats: HubValues['nats'] },
): Promise<HubValues['hub']> {
  const made = await makeKeys(places, flags, addresses);
  if (isMoved(addresses)) say(`[keys] agents are told where the hub is: ${addresses.advertised.join(', ')}`);
  await applyManifests(places.hub, made.ofHub);
  await applyManifests(places.workloads, made.ofWorkloads);
  say(
    `[keys] ${made.secrets} Secrets in namespace ${namespace}; the keys that sign stay in "${flags.keys}": keep it, and keep it away from here`,
  );
  return made.hub;
}
