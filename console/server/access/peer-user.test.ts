import { expect, test } from 'vitest';
import { peerUser } from './peer-user.ts';

const mapped = '0000000000000000FFFF00000100007F';
const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0FA1 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 11 1 0 100 0 0 10 0
   1: 0100007F:0FA1 0100007F:C001 01 00000000:00000000 00:00000000 00000000  1000        0 12 1 0 100 0 0 10 0
   2: 0200007F:C001 0100007F:0FA1 01 00000000:00000000 00:00000000 00000000  1002        0 13 1 0 100 0 0 10 0
   3: 0100007F:C001 0200007F:0FA1 06 00000000:00000000 03:00000000 00000000     0        0 0 3 0
   4: 0100007F:C001 0100007F:0FA1 01 00000000:00000000 00:00000000 00000000  1001        0 14 1 0 100 0 0 10 0
   5: 0100007F:C003 0100007F:0FA1 06 00000000:00000000 03:00000000 00000000     0        0 0 3 0
   6: ${mapped}:C004 ${mapped}:0FA1 01 00000000:00000000 00:00000000 00000000  1003        0 15 1 0 100 0 0 10 0
`;

test.each([
  { name: 'the other end, and not the own one', ownPort: 4001, peerPort: 49_153, want: 1001 },
  { name: 'one from another address', address: '127.0.0.2', ownPort: 4001, peerPort: 49_153, want: 1002 },
  { name: 'one that was closed', ownPort: 4001, peerPort: 49_155, want: 'closed' },
  { name: 'one by a socket of IPv6', ownPort: 4001, peerPort: 49_156, want: 1003 },
  { name: 'a connection that is not there', ownPort: 4001, peerPort: 49_154, want: undefined },
  { name: 'a connection to another port', ownPort: 4002, peerPort: 49_153, want: undefined },
])('$name: user $want', ({ want, ownPort, peerPort, address = '127.0.0.1' }) => {
  const connection = { own: { address: '127.0.0.1', port: ownPort }, peer: { address, port: peerPort } };
  expect(peerUser(table, connection)).toBe(want);
  expect(peerUser('', connection)).toBeUndefined();
});
