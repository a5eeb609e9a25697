import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { KubeApiError, type KubeClient } from '@rollcall/shared/kubernetes';
import { RollcallError } from '@rollcall/shared/errors';
import { createLiveSnapshot } from './live-snapshot.ts';
import { readFrom, watchHub } from './watch-hub.ts';

test.each([
  { name: 'of a short history everything', next: undefined, last: 40, want: 1 },
  { name: 'of a long one its end', next: undefined, last: 10_000, want: 9501 },
  { name: 'of an empty one what comes', next: undefined, last: 0, want: 1 },
  { name: 'after a break what was not read yet', next: 901, last: 1000, want: 901 },
  { name: 'of one that was put back to an older state what comes', next: 1001, last: 400, want: 401 },
])('$name', ({ next, last, want }) => {
  expect(readFrom(next, last)).toBe(want);
});

const silentSnapshot = () => {
  const unheard = { isHeard: false };
  return createLiveSnapshot({
    server: '',
    context: '',
    person: '',
    signIn: 'kubeconfig',
    kubernetes: unheard,
    history: unheard,
  });
};
const nobody = new RollcallError('BUS_UNREACHABLE', 'nobody listens');

test('a person who leaves while the bus is asked leaves nothing behind that ends the process', async () => {
  const snapshot = silentSnapshot();
  const ending = new AbortController();
  let subscriptions = 0;
  const nc = {
    info: undefined,
    options: {},
    async request() {
      ending.abort();
      throw nobody;
    },
    subscribe() {
      subscriptions++;
      throw new Error('closed connection');
    },
    close: async () => undefined,
  };
  const client = { openStream: () => Promise.reject(nobody), listPage: () => Promise.reject(nobody) };
  const openBus = async () => ({ nc, log: {} }) as never;
  await watchHub({ client: client as Partial<KubeClient> as KubeClient, openBus }, snapshot, ending.signal);
  expect(ending.signal.aborted).toBe(true);
  expect(subscriptions).toBe(0);
  snapshot.stop();
});

test('a person who may not read for a moment is told so for that moment only, also where nothing changes', async () => {
  const snapshot = silentSnapshot();
  const bookmark = (resourceVersion: string, annotations = {}) =>
    `${JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion, annotations } } })}\n`;
  const streams: Readable[] = [];
  let isAllowed = true;
  const client: Partial<KubeClient> = {
    async openStream(path) {
      if (!isAllowed) throw new KubeApiError('not you', { status: 403, reason: 'Forbidden', details: {} });
      const stream = new Readable({ read: () => undefined });
      streams.push(stream);
      const isFirst = !path.includes('resourceVersion=5');
      stream.push(isFirst ? bookmark('5', { 'k8s.io/initial-events-end': 'true' }) : bookmark('6'));
      return Object.assign(stream, { statusCode: 200, setTimeout: () => undefined }) as never;
    },
    listPage: async () => ({ items: [], resourceVersion: '6' }) as never,
  };
  const ending = new AbortController();
  const openBus = () => Promise.reject(nobody);
  const watching = watchHub({ client: client as KubeClient, openBus }, snapshot, ending.signal);
  const heard = () => snapshot.hub().kubernetes;
  await expect.poll(heard).toEqual({ isHeard: true });
  isAllowed = false;
  streams[0]?.push(null);
  await expect.poll(heard).toMatchObject({ isHeard: false, why: expect.stringContaining('not you') });
  isAllowed = true;
  await expect.poll(heard).toEqual({ isHeard: true });
  ending.abort();
  await watching;
  snapshot.stop();
});

test('where the API server answers and its database does not, the fleet is not said to be heard', async () => {
  const snapshot = silentSnapshot();
  const whole = { resourceVersion: '5', annotations: { 'k8s.io/initial-events-end': 'true' } };
  const streams: Readable[] = [];
  let isAway = false;
  const answer = async () => {
    if (isAway) throw new KubeApiError('etcd is away', { status: 500, reason: 'InternalError', details: {} });
  };
  const client: Partial<KubeClient> = {
    async openStream() {
      await answer();
      const stream = new Readable({ read: () => undefined });
      streams.push(stream);
      stream.push(`${JSON.stringify({ type: 'BOOKMARK', object: { metadata: whole } })}\n`);
      return Object.assign(stream, { statusCode: 200, setTimeout: () => undefined }) as never;
    },
    listPage: () => answer().then(() => ({ items: [], resourceVersion: '5' }) as never),
  };
  const ending = new AbortController();
  const openBus = () => Promise.reject(nobody);
  const watching = watchHub({ client: client as KubeClient, openBus }, snapshot, ending.signal);
  const heard = () => snapshot.hub().kubernetes;
  await expect.poll(heard).toEqual({ isHeard: true });
  isAway = true;
  for (const stream of streams) stream.push(null);
  await expect.poll(heard).toMatchObject({ isHeard: false });
  const said: boolean[] = [];
  const { putHub } = snapshot;
  snapshot.putHub = (some) => {
    if (some.kubernetes) said.push(some.kubernetes.isHeard);
    putHub(some);
  };
  await delay(2500);
  expect(said).not.toContain(true);
  isAway = false;
  await expect.poll(heard, { timeout: 10_000 }).toEqual({ isHeard: true });
  ending.abort();
  await watching;
  snapshot.stop();
});
