import { once } from 'node:events';
import { isIP } from 'node:net';
import { connect } from 'node:tls';
import {
  connectionFailure,
  findHubCa,
  formatHubAddress,
  type HubAddress,
  type HubTrust,
  isTrustFailure,
  oldestTls,
} from '@rollcall/agent';
import { toRollcallError } from '@rollcall/shared/errors';
import { type CheckOutcome, runCheck } from './check.ts';

const answerWithinMs = 10_000;

/** A whole TLS handshake that ends at this hub's CA; NATS speaks TLS from the first byte. */
async function handshake({ host, port }: HubAddress, caPem: string): Promise<void> {
  const signal = AbortSignal.timeout(answerWithinMs);
  const socket = connect({
    host,
    port,
    ca: caPem,
    minVersion: oldestTls,
    ...(isIP(host) === 0 ? { servername: host } : {}),
  });
  try {
    await once(socket, 'secureConnect', { signal });
  } finally {
    socket.on('error', () => undefined);
    socket.destroy();
  }
}

/** The first address that is this hub. @throws RollcallError what connectionFailure says */
async function firstThatAnswers(addresses: readonly HubAddress[], caPem: string): Promise<HubAddress> {
  let failure: unknown;
  for (const address of addresses) {
    try {
      await handshake(address, caPem);
      return address;
    } catch (cause) {
      failure = cause;
    }
  }
  throw connectionFailure(failure, addresses);
}

/** Whether the hub can be reached from here, and is the one that was meant. */
export async function checkHub(addresses: readonly HubAddress[], trust: HubTrust): Promise<CheckOutcome[]> {
  const where = addresses.map(formatHubAddress).join(', ');
  try {
    const caPem = await findHubCa(addresses, trust);
    const address = await firstThatAnswers(addresses, caPem);
    return [
      { name: 'hub', found: `${formatHubAddress(address)} answers` },
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
