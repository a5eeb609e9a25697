import type { EventLog, LastWord } from '@rollcall/shared/bus';
import type { Logger } from '@rollcall/shared/service';
import { expect, test } from 'vitest';
import { knownCluster, readKnownClusters } from './known-clusters.ts';
import { neverJoinedAtMs } from './membership.ts';

const clock = { monotonicMs: () => 10_000, hubMs: () => 1_000_000 };
const member = {
  key: 'UB',
  admittedAtMs: 999_000,
  intervalMs: 15_000,
  graceMs: 45_000,
  clusterSet: undefined,
  liveness: undefined,
  mayJoin: true,
};

test('before its first heartbeat a cluster is never seen since its admission: what its former key said is older', () => {
  const { state, sinceMs, lastHeartbeatMs } = knownCluster('c-1', member, clock);
  expect({ state, sinceMs, lastHeartbeatMs }).toEqual({
    state: 'neverSeen',
    sinceMs: 9000,
    lastHeartbeatMs: -Infinity,
  });
});

const key = 'UKEY';
const admittedWord = {
  writer: 'registrar',
  type: 'admitted',
  section: { state: 'admitted', clusterId: 'c', admittedKey: key, admittedAtMs: 5 },
} as const;
const approvedWord = {
  writer: 'approver',
  type: 'approved',
  // Without revokedKeys, as before there were any: the schema knows.
  section: { verdict: 'approved', approvedKey: key, heartbeat: { intervalSeconds: 7, graceSeconds: 30 } },
} as const;
const said = (state: string, sinceMs: number) => ({
  writer: 'heartbeat',
  type: state,
  section: { state, key, cause: 'Alive', joinedAtMs: 6, sinceMs, lastHeartbeatAtMs: sinceMs },
});
type Word = Pick<LastWord, 'type' | 'section'> & { writer: string; sequence: number };

async function membersOf(words: readonly Word[]) {
  const log: Pick<EventLog, 'lastWords'> = {
    async lastWords(_query, take) {
      for (const word of words) {
        const decode = () => {
          throw new Error('it does not fit');
        };
        take({ kind: 'cluster', id: 'c', decode, ...word } as LastWord);
      }
    },
  };
  return readKnownClusters(log, { warn: () => undefined } as unknown as Logger, () => true);
}

test.each([
  { name: 'in their order', order: [0, 1, 2, 3] },
  { name: 'as they happen to come', order: [3, 2, 1, 0] },
])('the newest word of each writer counts, $name', async ({ order }) => {
  const words = [
    { ...admittedWord, sequence: 3 },
    { ...approvedWord, sequence: 2 },
    { ...said('suspect', 70), sequence: 5 },
    { ...said('ready', 80), sequence: 9 },
  ];
  const members = await membersOf(order.flatMap((index) => words[index] ?? []));
  expect(members.get('c')).toMatchObject({
    key,
    intervalMs: 7000,
    mayJoin: true,
    liveness: { state: 'ready' },
  });
});

test('what does not fit its schema is given back to be said so', async () => {
  const broken = { ...approvedWord, section: { verdict: 'approved' }, sequence: 2 };
  await expect(membersOf([{ ...admittedWord, sequence: 3 }, broken])).rejects.toThrow('it does not fit');
});

test.each([
  { name: 'heard under the key that is approved', section: said('suspect', 70).section, want: true },
  { name: 'heard under another', section: { ...said('suspect', 70).section, key: 'UOTHER' }, want: false },
  { name: 'not heard yet', section: undefined, want: false },
  {
    name: 'never heard, and sends what is no heartbeat',
    section: { ...said('unreachable', 70).section, joinedAtMs: neverJoinedAtMs },
    want: false,
  },
])('whether the admission need not be read of who is $name: $want', async ({ section, want }) => {
  const log: Pick<EventLog, 'lastWords'> = {
    async lastWords({ isSpared }, take) {
      const decode = () => {
        throw new Error('it fits');
      };
      const word = { kind: 'cluster', id: 'c', sequence: 1, decode } as const;
      take({ ...word, ...approvedWord });
      if (section) take({ ...word, writer: 'heartbeat', type: 'suspect', section });
      expect(isSpared?.('c')).toBe(want);
      expect(isSpared?.('of-which-nothing-was-said')).toBe(false);
    },
  };
  const members = await readKnownClusters(log, { warn: () => undefined } as unknown as Logger, () => true);
  expect(members.get('c')?.liveness?.state).toBe(want ? 'suspect' : undefined);
});
