import { readFileSync } from 'node:fs';

/** One end of a connection within this machine. */
export interface Loopback {
  readonly ownPort: number;
  readonly peerPort: number;
}

const portOf = (address = ''): number => Number.parseInt(address.split(':')[1] ?? '', 16);

/**
 * Whose the other end of a connection is, by the kernel's list of connections.
 * @param table - `/proc/net/tcp`
 * @returns the number of the user; undefined where the connection is not in it
 */
export function peerUser(table: string, { ownPort, peerPort }: Loopback): number | undefined {
  for (const line of table.split('\n').slice(1)) {
    const [, local, remote, , , , , user] = line.trim().split(/\s+/);
    if (portOf(local) === peerPort && portOf(remote) === ownPort) return Number(user);
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
