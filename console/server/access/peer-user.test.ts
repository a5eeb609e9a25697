import { expect, test } from 'vitest';
import { peerUser } from './peer-user.ts';

const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0FA1 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 11 1 0 100 0 0 10 0
   1: 0100007F:0FA1 0100007F:C001 01 00000000:00000000 00:00000000 00000000  1000        0 12 1 0 100 0 0 10 0
   2: 0100007F:C001 0100007F:0FA1 01 00000000:00000000 00:00000000 00000000  1001        0 13 1 0 100 0 0 10 0
`;

test.each([
  { name: 'the other end, and not the own one', ownPort: 4001, peerPort: 49_153, want: 1001 },
  { name: 'a connection that is not there', ownPort: 4001, peerPort: 49_154, want: undefined },
  { name: 'a connection to another port', ownPort: 4002, peerPort: 49_153, want: undefined },
])('$name: user $want', ({ want, ...connection }) => {
  expect(peerUser(table, connection)).toBe(want);
  expect(peerUser('', connection)).toBeUndefined();
});
