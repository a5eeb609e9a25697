import type { IncomingMessage } from 'node:http';
import { RollcallError } from '@rollcall/shared/errors';
import type { KubeClient, KubeObject, Resource, StoredObject } from '@rollcall/shared/kubernetes';
import { broken, busy, type Change, expired } from './kube-server.ts';
import type { Replica } from './replica.ts';
import type { World } from './world.ts';

const longestAwayMs = 40_000;

function isAway(what: string): RollcallError {
  return new RollcallError('KUBE_UNREACHABLE', `the API server did not answer (${what})`);
}

/** One request: it may not arrive, be refused for the server's own trouble, take long, or have happened without an answer. */
async function request<Result>(world: World, replica: Replica, act: () => Result): Promise<Result> {
  const { scheduler, random, faults } = world;
  if (faults.strikes('kube.away')) world.kubeAwayUntilMs = scheduler.nowMs + random.int(500, longestAwayMs);
  const slowMs = faults.strikes('kube.slow') ? random.int(50, 9000) : 0;
  await scheduler.wait(slowMs + random.next() * 4, replica.life);
  await replica.step();
  if (world.kubeAwayUntilMs > scheduler.nowMs || faults.strikes('kube.unreachable')) throw isAway('not sent');
  if (faults.strikes('kube.busy')) throw busy();
  if (faults.strikes('kube.broken')) throw broken();
  let result: Result | undefined;
  let refused: unknown;
  try {
    result = act();
  } catch (error) {
    refused = error;
  }
  await scheduler.wait(random.next() * 4, replica.life);
  await replica.step();
  if (faults.strikes('kube.answer-lost')) throw isAway('answer lost');
  if (refused) throw refused;
  return result as Result;
}

/** The lines of one watch, in order, each some time after the change; ends when a fault cuts it. */
async function* watchLines(
  world: World,
  replica: Replica,
  watch: { plural: string; version: number; isDestroyed(): boolean; whenDestroyed: Promise<void> },
): AsyncGenerator<Buffer> {
  const { scheduler, random, faults, kube } = world;
  let last = watch.version;
  while (!watch.isDestroyed()) {
    const changes: Change[] = kube.changesAfter(watch.plural, last);
    if (changes.length === 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const stop = kube.onAnyChange(resolve);
      await Promise.race([promise, watch.whenDestroyed]);
      stop();
      continue;
    }
    await scheduler.wait(
      faults.strikes('kube.watch-late') ? random.int(20, 5000) : random.next() * 3,
      replica.life,
    );
    if (faults.strikes('kube.watch-cut')) return;
    for (const { line, version } of changes) {
      if (watch.isDestroyed()) return;
      last = version;
      yield line;
    }
  }
}

function openWatch(world: World, replica: Replica, path: string): IncomingMessage {
  const [place = '', query] = path.split('?');
  const version = Number(new URLSearchParams(query).get('resourceVersion'));
  const { promise: whenDestroyed, resolve } = Promise.withResolvers<void>();
  let isDestroyed = false;
  const plural = place.split('/').at(-1) ?? '';
  const lines = watchLines(world, replica, {
    plural,
    version,
    isDestroyed: () => isDestroyed,
    whenDestroyed,
  });
  return {
    statusCode: 200,
    setTimeout: () => undefined,
    destroy() {
      isDestroyed = true;
      resolve();
    },
    [Symbol.asyncIterator]: () => lines,
  } as unknown as IncomingMessage;
}

const never = (): never => {
  throw new Error('the simulated API server does not know this request');
};

/** A client of the simulated API server, for one process. */
export function connectKube(world: World, replica: Replica): KubeClient {
  const { kube, faults } = world;
  const ask = <Result>(act: () => Result) => request(world, replica, act);
  return {
    access: {} as KubeClient['access'],
    get: <T extends KubeObject>(
      { plural }: Resource,
      { name, namespace }: { name: string; namespace?: string | undefined },
    ) => ask(() => kube.get(plural, name, namespace) as StoredObject<T> | undefined),
    listPage: <T extends KubeObject>({ plural }: Resource, options?: { namespace?: string | undefined }) =>
      ask(() => ({
        items: kube.list(plural, options?.namespace) as unknown as StoredObject<T>[],
        resourceVersion: String(kube.version),
        continueToken: undefined,
      })),
    create: <T extends KubeObject>(resource: Resource, object: T) =>
      ask(() => kube.create(resource, object) as unknown as StoredObject<T>),
    mergePatch: <T extends KubeObject>(
      resource: Resource,
      name: string,
      patch: object,
      options?: { namespace?: string | undefined; subresource?: string | undefined },
    ) =>
      ask(
        () =>
          kube.patch(
            resource,
            { ...options, name },
            patch as Record<string, unknown>,
          ) as unknown as StoredObject<T>,
      ),
    delete: (resource, name, options) =>
      ask(() =>
        kube.delete(resource, name, { namespace: options?.namespace, uid: options?.preconditions?.uid }),
      ),
    openStream: (path) =>
      ask(() => {
        if (faults.strikes('kube.watch-expired')) throw expired();
        return openWatch(world, replica, path);
      }),
    list: never,
    replace: never,
    apply: never,
    createSubresource: never,
    raw: never,
    hasApiGroup: never,
    close: () => undefined,
  };
}
