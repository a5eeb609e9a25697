import {
  connectionFailure,
  formatHubAddress,
  type HubNetwork,
  parseHubAddress,
  tryAddress,
} from '@rollcall/agent';
import { throughProxy } from '../agent/network-flags.ts';
import { examine, finding, type Finding, ok } from './finding.ts';

const dayMs = 86_400_000;
/** A restart of the hub makes a new certificate; two weeks are enough to plan one. */
const renewBeforeDays = 14;

export function judgeCertificate(address: string, untilMs: number, nowMs: number): Finding {
  const days = Math.floor((untilMs - nowMs) / dayMs);
  const check = `certificate ${address}`;
  const message = `ends in ${days} days (${new Date(untilMs).toISOString()})`;
  return days < renewBeforeDays
    ? finding(check, message, 'Restart the hub (`rollcall up` makes a new one) or renew its TLS Secret.')
    : ok(check, message);
}

/** Whether this address of the hub is reached from here, and how long its certificate lasts. */
export function examineAddress(
  text: string,
  caPem: string,
  network: HubNetwork = {},
): Promise<readonly Finding[]> {
  const check = `address ${text}`;
  return examine(check, async () => {
    const address = parseHubAddress(text);
    try {
      const certificate = await tryAddress(address, network, caPem);
      const reached = ok(
        check,
        `${formatHubAddress(address)} answers${throughProxy([address], network)}, and is the hub of this CA`,
      );
      if (!certificate) return reached;
      return [reached, judgeCertificate(text, Date.parse(certificate.validTo), Date.now())];
    } catch (cause) {
      throw connectionFailure(cause, [address]);
    }
  });
}
