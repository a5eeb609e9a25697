import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ClusterRow, HubRow } from '../../rows/index.ts';
import { createLiveSnapshot, type LivePart, type LiveSnapshot } from './live-snapshot.ts';

const hub: HubRow = {
  server: 'https://hub',
  context: 'hub',
  person: 'alice',
  signIn: 'kubeconfig',
  kubernetes: { isHeard: true },
  history: { isHeard: true },
};
const row = (name: string, sinceMs = 0): ClusterRow => ({ name, state: 'ready', reason: 'Alive', sinceMs });

/** Reads like a page does. */
function reader(snapshot: LiveSnapshot, lastId?: string) {
  const ending = new AbortController();
  const parts = snapshot.follow(lastId, ending.signal)[Symbol.asyncIterator]();
  const seen = new Map<string, number>();
  let last = lastId;
  let snapshots = 0;
  function take({ id, messages }: LivePart): boolean {
    last = id ?? last;
    for (const message of messages) {
      if (message.kind === 'begin') {
        snapshots++;
        seen.clear();
      }
      if (message.kind !== 'clusters') continue;
      for (const { name, sinceMs } of message.rows) seen.set(name, sinceMs);
      for (const name of message.gone) seen.delete(name);
    }
    return messages.some(({ kind }) => kind === 'whole');
  }
  return {
    seen,
    last: () => last,
    snapshots: () => snapshots,
    async next() {
      const { value } = (await parts.next()) as { value: LivePart };
      return take(value);
    },
    async untilWhole() {
      while (!(await this.next()));
    },
    end: () => ending.abort(),
  };
}

test('who comes gets a snapshot in parts, and then what changes', async () => {
  const snapshot = createLiveSnapshot(hub);
  for (let index = 0; index < 2500; index++) snapshot.putCluster(row(`c${index}`));
  const page = reader(snapshot);
  await page.untilWhole();
  expect(page.seen.size).toBe(2500);
  snapshot.dropCluster('c7');
  snapshot.putCluster(row('c8', 5));
  while (page.seen.has('c7')) await page.next();
  expect([page.seen.size, page.seen.get('c8'), page.snapshots()]).toEqual([2499, 5, 1]);
  page.end();
});

test('who comes back goes on where it was; by an id of another console it gets a snapshot', async () => {
  const snapshot = createLiveSnapshot(hub);
  snapshot.putCluster(row('a'));
  const page = reader(snapshot);
  await page.untilWhole();
  page.end();
  snapshot.putCluster(row('b'));
  const back = reader(snapshot, page.last());
  while (!back.seen.has('b')) await back.next();
  expect(back.snapshots()).toBe(0);
  back.end();
  for (const id of ['00000000-1', 'nonsense', `${page.last()}9`]) {
    const stranger = reader(snapshot, id);
    await stranger.untilWhole();
    expect([id, stranger.snapshots(), stranger.seen.size]).toEqual([id, 1, 2]);
    stranger.end();
  }
});

test('a page that is slow gets a snapshot again instead of a backlog', async () => {
  const snapshot = createLiveSnapshot(hub);
  snapshot.putCluster(row('a'));
  const page = reader(snapshot);
  await page.untilWhole();
  // One batch may hold as many rows as are kept at all; two of them push the first one out.
  for (const sinceMs of [1, 2]) {
    for (let index = 0; index < 30_000; index++) snapshot.putCluster(row(`c${index}`, sinceMs));
    const other = reader(snapshot);
    await other.untilWhole();
    while (other.seen.get('c29999') !== sinceMs) await other.next();
    await other.next();
    other.end();
  }
  await page.untilWhole();
  expect([page.snapshots(), page.seen.size]).toEqual([2, 30_001]);
  page.end();
});

test('whatever happens while a page reads, in the end it sees what is there', async () => {
  const change = fc.record({
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    sinceMs: fc.nat(9),
    gone: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 30 }), fc.nat(30), async (changes, startAfter) => {
      const snapshot = createLiveSnapshot(hub);
      const truth = new Map<string, number>();
      let page: ReturnType<typeof reader> | undefined;
      for (const [index, { name, sinceMs, gone }] of changes.entries()) {
        if (index === startAfter) await (page = reader(snapshot)).next();
        if (gone) snapshot.dropCluster(name);
        else snapshot.putCluster(row(name, sinceMs));
        if (gone) truth.delete(name);
        else truth.set(name, sinceMs);
      }
      page ??= reader(snapshot);
      await page.untilWhole();
      snapshot.putCluster(row('last'));
      while (!page.seen.has('last')) await page.next();
      page.seen.delete('last');
      expect([...page.seen].toSorted()).toEqual([...truth].toSorted());
      page.end();
    }),
    { numRuns: 20 },
  );
});

test('the name of a cluster that is gone is forgotten once its request is gone as well', () => {
  const snapshot = createLiveSnapshot(hub);
  const request = { id: 'id-1', name: 'edge', result: '', reason: '', message: '', key: '', sinceMs: 0 };
  snapshot.putCluster({ ...row('edge'), id: 'id-1' });
  snapshot.putRequest(request);
  snapshot.dropCluster('edge');
  expect(snapshot.clusterNameOf('id-1')).toBe('edge');
  snapshot.dropRequest('id-1');
  expect(snapshot.clusterNameOf('id-1')).toBeUndefined();
  snapshot.putCluster({ ...row('edge'), id: 'id-1' });
  snapshot.putRequest(request);
  snapshot.dropRequest('id-1');
  expect(snapshot.clusterNameOf('id-1')).toBe('edge');
  snapshot.stop();
});

test('a cluster that asks by another name is called by that one, unless it is in by the first', () => {
  const snapshot = createLiveSnapshot(hub);
  const request = { id: 'id-1', name: 'edge', result: '', reason: '', message: '', key: '', sinceMs: 0 };
  snapshot.putRequest(request);
  snapshot.putRequest({ ...request, name: 'edge-2' });
  expect(snapshot.clusterNameOf('id-1')).toBe('edge-2');
  snapshot.putCluster({ ...row('edge-2'), id: 'id-1' });
  snapshot.putRequest({ ...request, name: 'edge-3' });
  expect(snapshot.clusterNameOf('id-1')).toBe('edge-2');
  snapshot.stop();
});

test('which server an agent is at stays beside whatever Kubernetes says of the cluster, until it is gone', async () => {
  const snapshot = createLiveSnapshot(hub);
  snapshot.putCluster({ ...row('edge'), id: 'id-1' });
  expect(snapshot.clusterIds()).toEqual(['id-1']);
  snapshot.putServer('id-1', 'hub-2');
  snapshot.putServer('id-of-nobody', 'hub-1');
  snapshot.putCluster({ ...row('edge', 5), id: 'id-1' });
  const shown = async () => {
    for await (const { messages } of snapshot.follow(undefined, AbortSignal.timeout(5000)))
      for (const message of messages) if (message.kind === 'clusters') return message.rows;
    return undefined;
  };
  expect(await shown()).toEqual([{ ...row('edge', 5), id: 'id-1', server: 'hub-2' }]);
  snapshot.dropCluster('edge');
  snapshot.putCluster({ ...row('edge'), id: 'id-1' });
  expect(await shown()).toEqual([{ ...row('edge'), id: 'id-1' }]);
  snapshot.stop();
});

test('an object of a former name that goes last does not take the cluster along', () => {
  const snapshot = createLiveSnapshot(hub);
  snapshot.putCluster({ ...row('old'), id: 'edge' });
  snapshot.putCluster({ ...row('new'), id: 'edge' });
  snapshot.dropCluster('old');
  expect(snapshot.clusterNameOf('edge')).toBe('new');
  snapshot.stop();
});
