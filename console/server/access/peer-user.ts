import { readFileSync } from 'node:fs';
import { endianness } from 'node:os';

/** An IPv4 address and a port. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
}

/** A connection within this machine. */
export interface Loopback {
  readonly own: Endpoint;
  readonly peer: Endpoint;
}

/** In tcp6, of a program that speaks IPv4 by a socket of IPv6. */
const mappedPrefix = '0000000000000000FFFF0000';

/** As the kernel writes it: the address as one number of this machine. */
function kernelEndpoint({ address, port }: Endpoint): string {
  const bytes = address.split('.').map(Number);
  const hex = Buffer.from(endianness() === 'LE' ? bytes.toReversed() : bytes).toString('hex');
  return `${hex}:${port.toString(16).padStart(4, '0')}`.toUpperCase();
}

const isAt = (column = '', end: string): boolean => column === end || column === mappedPrefix + end;

/**
 * Whose the other end of a connection is, by the kernel's list of connections.
 * @param table - `/proc/net/tcp` or tcp6
 * @returns the number of the user; `closed` where nobody holds that end any more; undefined where the connection is not in it
 */
export function peerUser(table: string, { own, peer }: Loopback): number | 'closed' | undefined {
  const [ownEnd, peerEnd] = [kernelEndpoint(own), kernelEndpoint(peer)];
  for (const line of table.split('\n').slice(1)) {
    const [, local, remote, , , , , user, , inode] = line.trim().split(/\s+/);
    // The kernel shows an end that was closed as one of user 0.
    if (isAt(local, peerEnd) && isAt(remote, ownEnd)) return inode === '0' ? 'closed' : Number(user);
  }
  return undefined;
}

/** Whether it is known that somebody else of this machine asks. Only Linux says whose a connection is. */
export function isOtherUser(connection: Loopback): boolean {
  const me = process.getuid?.();
  for (const name of ['tcp', 'tcp6']) {
    let table: string;
    try {
      table = readFileSync(`/proc/net/${name}`, 'utf8');
    } catch {
      continue;
    }
    const user = peerUser(table, connection);
    // A tunnel or a browser of the administrator is no more than the administrator can have anyway.
    if (user !== undefined) return user !== me && user !== 0;
  }
  return false;
}
