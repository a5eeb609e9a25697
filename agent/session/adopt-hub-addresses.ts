import type { Reply } from '@rollcall/shared/protocol/reply';
import { readHubCas } from '@rollcall/shared/protocol/hub-cas';
import { addressesToTry, reachedAddresses, toldAddresses } from '../hub/addresses-to-try.ts';
import { formatHubAddress, type HubAddress } from '../hub/hub-address.ts';
import type { HubNetwork } from '../hub/hub-network.ts';
import { tryAddress } from '../hub/secure-connection.ts';
import type { Session } from './session.ts';

export interface ToldPlacesOptions {
  /** What the agent was started with. */
  readonly addresses: readonly HubAddress[];
  readonly network?: HubNetwork;
}

/** What answers say of how the hub is to be found from now on. */
export interface ToldPlaces {
  learn(said: Pick<Reply, 'hubCas' | 'hubAddresses'>): void;
}

/**
 * Nothing that is told takes the place of what works before a connection by it has succeeded: the registrar that says it may be a
 * stolen one, or an operator may have made a mistake. Each is tried aside from the connection that stands, one at a time; where the hub is not
 * found at an address, the next connections say whether it is there by then.
 */
export function createToldPlaces(session: Session, options: ToldPlacesOptions): ToldPlaces {
  const { stateStore, logger, signal, trustDigest } = session;
  const { network = {} } = options;
  let waiting: Parameters<ToldPlaces['learn']>[0] | undefined;
  let isTrying = false;
  let triedList: string | undefined;

  function isHub(address: HubAddress, caPem: string): Promise<boolean> {
    return tryAddress(address, network, caPem).then(
      () => true,
      () => false,
    );
  }

  /** One after the other: most often the first answers. */
  async function isHubAnywhere(caPem: string): Promise<boolean> {
    const { hubAddresses, hubAddressesReached } = stateStore.state;
    const told = toldAddresses(hubAddresses) ?? [];
    const groups = addressesToTry(options.addresses, told, hubAddressesReached);
    for (const address of groups.flat()) {
      if (signal.aborted) return false;
      if (await isHub(address, caPem)) return true;
    }
    return false;
  }

  /** The CA that works says which ones come next; the reply only carries it. */
  async function learnCas(told: unknown): Promise<void> {
    const { hubId, hubCaPem, hubCaOf, hubCaToldAtMs } = stateStore.state;
    if (told === undefined || hubCaPem === undefined || hubCaOf !== trustDigest) return;
    const said = readHubCas(told, { hub: hubId, caPem: hubCaPem });
    const isNews = said !== undefined && (hubCaToldAtMs === undefined || said.atMs > hubCaToldAtMs);
    if (!isNews) return;
    const isKnown = said.caPem === hubCaPem;
    if (!isKnown && !(await isHubAnywhere(said.caPem))) {
      logger.warn({}, 'the hub tells of CA certificates by which it cannot be reached yet');
      return;
    }
    // Found anew by its pin meanwhile: that is heard of again with the next reply.
    if (stateStore.state.hubCaPem !== hubCaPem) return;
    stateStore.update((old) => ({ ...old, hubCaPem: said.caPem, hubCaToldAtMs: said.atMs }));
    if (!isKnown) logger.info({}, 'the hub is known by other CA certificates from now on');
  }

  /** The connection stays; the next one is made by them. */
  async function learnAddresses(texts: readonly string[] | undefined): Promise<void> {
    const told = toldAddresses(texts);
    if (texts === undefined || told === undefined) return;
    if (texts.join() !== (stateStore.state.hubAddresses ?? []).join()) {
      const given = new Set(options.addresses.map(formatHubAddress));
      stateStore.update(({ hubAddressesReached = [], ...old }) => ({
        ...old,
        hubAddresses: texts,
        hubAddressesReached: reachedAddresses(told, hubAddressesReached),
      }));
      if (told.some((address) => !given.has(formatHubAddress(address))))
        logger.info({}, 'the hub is to be reached by other addresses from now on');
    }
    const { hubCaPem, hubAddressesReached = [] } = stateStore.state;
    if (hubCaPem === undefined || triedList === texts.join()) return;
    triedList = texts.join();
    for (const address of told) {
      const name = formatHubAddress(address);
      if (hubAddressesReached.includes(name)) continue;
      if (signal.aborted || !(await isHub(address, hubCaPem))) continue;
      stateStore.update((old) => ({
        ...old,
        hubAddressesReached: reachedAddresses(told, [...(old.hubAddressesReached ?? []), name]),
      }));
    }
  }

  /** Of what comes meanwhile the last counts. */
  async function learnWaiting(): Promise<void> {
    isTrying = true;
    while (waiting !== undefined && !signal.aborted) {
      const { hubCas, hubAddresses } = waiting;
      waiting = undefined;
      await learnCas(hubCas);
      await learnAddresses(hubAddresses);
    }
    isTrying = false;
  }

  return {
    learn({ hubCas, hubAddresses }) {
      if (hubCas === undefined && hubAddresses === undefined) return;
      waiting = { ...(hubCas && { hubCas }), ...(hubAddresses && { hubAddresses }) };
      if (!isTrying) void learnWaiting();
    },
  };
}
