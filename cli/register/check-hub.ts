import {
  connectionFailure,
  findHubCa,
  formatHubAddress,
  type HubAddress,
  type HubNetwork,
  type HubTrust,
  isTrustFailure,
  tryAddress,
} from '@rollcall/agent';
import { throughProxy } from '../agent/network-flags.ts';
import { toRollcallError } from '@rollcall/shared/errors';
import { type CheckOutcome, runCheck } from './check.ts';

/** The first address that is this hub. @throws RollcallError what connectionFailure says */
async function firstThatAnswers(
  addresses: readonly HubAddress[],
  caPem: string,
  network: HubNetwork,
): Promise<HubAddress> {
  let failure: unknown;
  for (const address of addresses) {
    try {
      await tryAddress(address, network, caPem);
      return address;
    } catch (cause) {
      failure = cause;
    }
  }
  throw connectionFailure(failure, addresses);
}

/** Whether the hub can be reached from here, and is the one that was meant. */
export async function checkHub(
  addresses: readonly HubAddress[],
  trust: HubTrust,
  network: HubNetwork,
): Promise<CheckOutcome[]> {
  const where = addresses.map(formatHubAddress).join(', ');
  try {
    const caPem = await findHubCa(addresses, trust, network);
    const address = await firstThatAnswers(addresses, caPem, network);
    return [
      { name: 'hub', found: `${formatHubAddress(address)} answers${throughProxy([address], network)}` },
      {
        name: 'hub-ca',
        found: 'pins' in trust ? 'the CA has the pinned key' : "the hub's certificate is of the given CA",
      },
    ];
  } catch (thrown) {
    const error = toRollcallError(thrown);
    const isReached = isTrustFailure(error.code);
    const reached = await runCheck('hub', () => {
      if (isReached) return `${where} answers`;
      throw error;
    });
    return isReached ? [reached, { name: 'hub-ca', error }] : [reached];
  }
}
