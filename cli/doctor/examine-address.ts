import { once } from 'node:events';
import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { connectionFailure, formatHubAddress, type HubAddress, parseHubAddress } from '@rollcall/agent';
import { examine, finding, type Finding, ok } from './finding.ts';

const answerWithinMs = 5000;
const dayMs = 86_400_000;
/** A restart of the hub makes a new certificate; two weeks are enough to plan one. */
const renewBeforeDays = 14;

/** A whole handshake that ends at this CA; NATS speaks TLS from the first byte here. */
async function handshake({ host, port }: HubAddress, caPem: string): Promise<TLSSocket> {
  const servername = isIP(host) === 0 ? { servername: host } : {};
  const socket = connect({ host, port, ca: caPem, ...servername });
  socket.setTimeout(answerWithinMs, () => socket.destroy(new Error(`no answer within ${answerWithinMs} ms`)));
  await once(socket, 'secureConnect');
  return socket;
}

export function judgeCertificate(address: string, untilMs: number, nowMs: number): Finding {
  const days = Math.floor((untilMs - nowMs) / dayMs);
  const check = `certificate ${address}`;
  const message = `ends in ${days} days (${new Date(untilMs).toISOString()})`;
  return days < renewBeforeDays
    ? finding(check, message, 'Restart the hub (`rollcall up` makes a new one) or renew its TLS Secret.')
    : ok(check, message);
}

/** Whether this address of the hub is reached from here, and how long its certificate lasts. */
export function examineAddress(text: string, caPem: string): Promise<readonly Finding[]> {
  const check = `address ${text}`;
  return examine(check, async () => {
    const address = parseHubAddress(text);
    try {
      const socket = await handshake(address, caPem);
      const certificate = socket.getPeerX509Certificate();
      socket.destroy();
      const reached = ok(check, `${formatHubAddress(address)} answers, and is the hub of this CA`);
      if (!certificate) return reached;
      return [reached, judgeCertificate(text, Date.parse(certificate.validTo), Date.now())];
    } catch (cause) {
      throw connectionFailure(cause, [address]);
    }
  });
}
