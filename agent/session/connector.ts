import { toRollcallError } from '@rollcall/shared/errors';
import type { Nkey } from '@rollcall/shared/trust/keys';
import { type Credential, credentialsToTry } from '../protocol/credential-choice.ts';
import { addressesToTry, reachedAddresses, toldAddresses } from '../hub/addresses-to-try.ts';
import { formatHubAddress, type HubAddress } from '../hub/hub-address.ts';
import { dialHub, type HubLink } from './hub-connection.ts';
import type { HubNetwork } from '../hub/hub-network.ts';
import { isTrustFailure } from '../hub/hub-trust.ts';
import { inAnyOrder } from '../hub/shuffle.ts';
import type { Session } from './session.ts';

export interface Connector {
  /**
   * Connects with one credential and the key that goes with it.
   * @param purpose - what the connection is for beside heartbeats and requests
   * @returns undefined when the server refuses it
   */
  dial(credential: Credential, key: Nkey, purpose?: 'tunnel'): Promise<HubLink | undefined>;
  /** Tries what the agent has, best first. */
  best(): Promise<{ link?: HubLink; shown: Credential['role'][] }>;
}

export function createConnector(
  session: Session,
  options: {
    readonly addresses: readonly HubAddress[];
    readonly network?: HubNetwork;
    /** The hub's CA: found by its pin, or given. Asked again after a connection showed another one. */
    hubCa(options: { again: boolean }): Promise<string>;
  },
): Connector {
  const { stateStore, keys, clusterId, trustDigest } = session;
  const { network, hubCa } = options;

  function reached(address: HubAddress): void {
    const { hubAddresses, hubAddressesReached = [] } = stateStore.state;
    const told = toldAddresses(hubAddresses) ?? [];
    const now = reachedAddresses(told, [...hubAddressesReached, formatHubAddress(address)]);
    if (now.length > hubAddressesReached.length)
      stateStore.update((old) => ({ ...old, hubAddressesReached: now }));
  }

  function worked(jwt: string): void {
    const { member } = stateStore.state;
    if (member && member.workedJwt !== jwt)
      stateStore.update((old) => ({ ...old, member: { ...member, ...old.member, workedJwt: jwt } }));
  }

  async function dialTrusting(caPem: string, credential: Credential, ownKey: Nkey, purpose?: 'tunnel') {
    const tokenKey = session.token?.key;
    const formerJwt = stateStore.state.member?.jwt;
    const who = { clusterId, ownKey, tokenKey, formerJwt };
    const told = toldAddresses(stateStore.state.hubAddresses) ?? [];
    const { hubCaPem, hubCaOf, hubAddressesReached } = stateStore.state;
    const addresses = addressesToTry(options.addresses, told, hubAddressesReached).flatMap(inAnyOrder);
    const dialed = await dialHub(credential, { addresses, network, caPem, purpose, ...who });
    const isNew = hubCaPem !== caPem || hubCaOf !== trustDigest;
    // What the hub has told meanwhile is newer than what this connection began with.
    if (dialed && isNew && stateStore.state.hubCaPem === hubCaPem)
      stateStore.update((old) => ({
        ...old,
        hubCaPem: caPem,
        hubCaOf: trustDigest,
        hubCaToldAtMs: undefined,
      }));
    if (dialed) reached(dialed.address);
    const isOwn = ownKey.publicKey === keys.current().publicKey;
    if (dialed && isOwn && credential.role === 'member') worked(credential.jwt);
    return dialed;
  }

  /**
   * A hub with a new CA is found by its pin again; where a CA was given, that one stays what is trusted. What the hub itself has told
   * of is not doubted: the CA that it replaced may have leaked. Whoever gives another trust than before is believed first.
   */
  async function dial(credential: Credential, key: Nkey, purpose?: 'tunnel'): Promise<HubLink | undefined> {
    const { hubCaPem, hubCaOf, hubCaToldAtMs } = stateStore.state;
    const kept = hubCaOf === undefined || hubCaOf === trustDigest ? hubCaPem : undefined;
    const caPem = kept ?? (await hubCa({ again: false }));
    try {
      return await dialTrusting(caPem, credential, key, purpose);
    } catch (error) {
      if (!isTrustFailure(toRollcallError(error).code)) throw error;
      if (kept !== undefined && hubCaToldAtMs !== undefined) throw error;
      const fresh = await hubCa({ again: true });
      if (fresh === caPem) throw error;
      return await dialTrusting(fresh, credential, key, purpose);
    }
  }

  return {
    dial,
    async best() {
      const shown: Credential['role'][] = [];
      const hasToken = session.token !== undefined;
      for (const credential of credentialsToTry(stateStore.state, { hasToken, nowMs: Date.now() })) {
        const dialed = await dial(credential, keys.current());
        if (dialed) return { link: dialed, shown };
        shown.push(credential.role);
      }
      // The hub let the next key in, and a crash or a lost reply kept that from us.
      const next = keys.next();
      const link = next && (await dial({ role: 'returning' }, next));
      return link ? { link, shown } : { shown };
    },
  };
}
