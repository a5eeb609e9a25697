import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { RollcallError } from '@rollcall/shared/errors';
import type { KubeClient, KubeObject, Resource, StoredObject } from '@rollcall/shared/kubernetes';
import { broken, busy, expired } from './kube-server.ts';
import type { Replica } from './replica.ts';
import { Violation } from './violation.ts';
import type { World } from './world.ts';

const longestAwayMs = 40_000;

function isAway(what: string): RollcallError {
  return new RollcallError('KUBE_UNREACHABLE', `the API server did not answer (${what})`);
}

/** The way to the API server or back. */
async function travel({ scheduler, random, faults }: World, replica: Replica): Promise<void> {
  const slowMs = faults.strikes('kube.slow') ? random.int(50, 9000) : 0;
  await scheduler.wait(slowMs + random.next() * 4, replica.life);
  await replica.step();
}

/** Why nothing happens: it does not arrive, or is refused for the server's own trouble. */
function trouble(world: World): Error | undefined {
  const { scheduler, random, faults } = world;
  if (faults.strikes('kube.away')) world.kubeAwayUntilMs = scheduler.nowMs + random.int(500, longestAwayMs);
  if (world.kubeAwayUntilMs > scheduler.nowMs || faults.strikes('kube.unreachable'))
    return isAway('not sent');
  if (faults.strikes('kube.busy')) return busy();
  return faults.strikes('kube.broken') ? broken() : undefined;
}

/** What is read is as old as the way back is long; the way there would only make it newer. */
async function look<Result>(world: World, replica: Replica, act: () => Result): Promise<Result> {
  const why = trouble(world);
  const result = why ? undefined : act();
  await travel(world, replica);
  if (why) throw why;
  if (world.faults.strikes('kube.answer-lost')) throw isAway('answer lost');
  return result as Result;
}

const mostWritesASecond = 60;

/**
 * Whoever writes as fast as it can, without anything that happens, would do so for ever with a whole fleet. What the server
 * does not take is no write: each event waits longer and longer before it is tried again (`afterFailure`).
 */
function noteWrite(world: World, { life, writes }: Replica): void {
  const second = Math.floor(world.scheduler.nowMs / 1000);
  writes.count = writes.second === second ? writes.count + 1 : 1;
  writes.second = second;
  if (writes.count > mostWritesASecond)
    world.fail(
      new Violation(
        'nobody writes without end',
        `${life.name} has the API server make ${writes.count} changes in a second`,
      ),
    );
}

/** It may have happened without an answer. */
async function change<Result>(world: World, replica: Replica, act: () => Result): Promise<Result> {
  await travel(world, replica);
  const why = trouble(world);
  if (why) throw why;
  noteWrite(world, replica);
  let result: Result | undefined;
  let refused: unknown;
  try {
    result = act();
  } catch (error) {
    refused = error;
  }
  await travel(world, replica);
  if (world.faults.strikes('kube.answer-lost')) throw isAway('answer lost');
  if (refused) throw refused;
  return result as Result;
}

interface Watch {
  readonly plural: string;
  readonly version: number;
  /** What is told of before the changes. */
  readonly initial: readonly string[];
  isDestroyed: boolean;
  wake(): void;
}

/** The lines of one watch, in order, each some time after the change; ends when a fault cuts it. */
async function* watchLines(world: World, replica: Replica, watch: Watch): AsyncGenerator<string> {
  const { scheduler, random, faults, kube } = world;
  let last = watch.version;
  if (faults.strikes('kube.watch-cut'))
    return yield* watch.initial.slice(0, random.int(0, watch.initial.length));
  yield* watch.initial;
  while (!watch.isDestroyed) {
    const changes = kube.changesAfter(watch.plural, last);
    if (changes.length === 0) {
      await new Promise<void>((resolve) => {
        watch.wake = resolve;
        kube.onNextChange(watch.plural, resolve);
      });
      continue;
    }
    await scheduler.wait(
      faults.strikes('kube.watch-late') ? random.int(20, 5000) : random.next() * 3,
      replica.life,
    );
    if (faults.strikes('kube.watch-cut')) return;
    for (const { line, version } of changes) {
      if (watch.isDestroyed) return;
      last = version;
      yield line;
    }
  }
}

function openWatch(world: World, replica: Replica, path: string): IncomingMessage {
  const { kube, faults } = world;
  const [place = '', query = ''] = path.split('?');
  const plural = place.split('/').at(-1) ?? '';
  const tellsAll = query.includes('sendInitialEvents=true');
  if (tellsAll && faults.strikes('kube.older')) return notKnown();
  const watch: Watch = {
    plural,
    version: tellsAll ? kube.version : Number(/resourceVersion=(\d+)/.exec(query)?.[1]),
    initial: tellsAll ? [...kube.initialLines(plural)] : [],
    isDestroyed: false,
    wake: () => undefined,
  };
  const lines = watchLines(world, replica, watch);
  return {
    statusCode: 200,
    setTimeout: () => undefined,
    destroy() {
      watch.isDestroyed = true;
      watch.wake();
    },
    [Symbol.asyncIterator]: () => lines,
  } as unknown as IncomingMessage;
}

/** What a server says that does not know how to tell all that is there in a watch. */
function notKnown(): IncomingMessage {
  const body = JSON.stringify({ kind: 'Status', reason: 'Invalid', code: 422 });
  return Object.assign(Readable.from([body]), {
    statusCode: 422,
    setTimeout: () => undefined,
  }) as unknown as IncomingMessage;
}

const never = (): never => {
  throw new Error('the simulated API server does not know this request');
};

/** A client of the simulated API server, for one process. */
export function connectKube(world: World, replica: Replica): KubeClient {
  const { kube, faults } = world;
  const asking = <Result>(act: () => Result) => look(world, replica, act);
  const changing = <Result>(act: () => Result) => change(world, replica, act);
  return {
    access: {} as KubeClient['access'],
    get: <T extends KubeObject>(
      { plural }: Resource,
      { name, namespace }: { name: string; namespace?: string | undefined },
    ) => asking(() => kube.get(plural, name, namespace) as StoredObject<T> | undefined),
    listPage: <T extends KubeObject>({ plural }: Resource, options?: { namespace?: string | undefined }) =>
      asking(() => ({
        items: kube.list(plural, options?.namespace) as unknown as StoredObject<T>[],
        resourceVersion: String(kube.version),
        continueToken: undefined,
        remaining: 0,
      })),
    create: <T extends KubeObject>(resource: Resource, object: T) =>
      changing(() => kube.create(resource, object) as unknown as StoredObject<T>),
    mergePatch: <T extends KubeObject>(
      resource: Resource,
      name: string,
      patch: object,
      options?: { namespace?: string | undefined; subresource?: string | undefined },
    ) =>
      changing(
        () =>
          kube.patch(
            resource,
            { ...options, name },
            patch as Record<string, unknown>,
          ) as unknown as StoredObject<T>,
      ),
    delete: (resource, name, options) =>
      changing(() =>
        kube.delete(resource, name, { namespace: options?.namespace, uid: options?.preconditions?.uid }),
      ),
    openStream: (path) =>
      asking(() => {
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
