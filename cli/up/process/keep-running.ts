import { setTimeout as delay } from 'node:timers/promises';
import { toRollcallError } from '@rollcall/shared/errors';
import type { ChildHandle } from './child-process.ts';

/** A server that ends sooner than this after its start, again and again, is not helped by more starts. */
const soonMs = 10_000;
const mostSoon = 5;
const firstPauseMs = 100;

export interface KeptRunning {
  /** The process that runs now, or ran last. */
  server(): ChildHandle;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts a server again whenever it ends by itself, as any supervisor would.
 * @param first - the process that runs now
 * @param options.gaveUp - told when that does not help: of the server that ended last, and how
 */
export function keepRunning(
  first: ChildHandle,
  options: {
    start(): Promise<ChildHandle>;
    /** false: nothing is started, and `gaveUp` is told at once. */
    readonly mayStart: boolean;
    say(message: string): void;
    gaveUp(server: ChildHandle, how: string): void;
  },
): KeptRunning {
  const { start, mayStart, say, gaveUp } = options;
  let server = first;
  let startedMs = performance.now();
  let soon = 0;
  /** Each start and stop on purpose ends the watch over the process of before. */
  let watch = 0;

  /** A start that is under way, with whatever comes of it: who stops waits for it. */
  let starting: Promise<unknown> = Promise.resolve();

  async function launch(): Promise<void> {
    const started = start();
    starting = started.catch(() => undefined);
    server = await started;
    startedMs = performance.now();
  }
  /** @returns whether it runs; false when it gave up, or somebody else took over */
  async function startAgain(mine: number, how: string): Promise<boolean> {
    soon = performance.now() - startedMs < soonMs ? soon + 1 : 1;
    for (const most = mayStart ? mostSoon : 0; soon <= most; soon++) {
      say(`${server.name} ended (${how}); starting it again`);
      await delay(firstPauseMs * 2 ** (soon - 1));
      if (mine !== watch) return false;
      try {
        await launch();
        return true;
      } catch (thrown) {
        say(`${server.name} could not be started: ${toRollcallError(thrown).message}`);
      }
    }
    if (mine === watch) gaveUp(server, how);
    return false;
  }
  async function follow(): Promise<void> {
    const mine = ++watch;
    for (;;) {
      const how = await server.whenExited;
      if (mine !== watch || !(await startAgain(mine, how)) || mine !== watch) return;
    }
  }
  void follow();

  async function stop(): Promise<void> {
    watch++;
    await starting;
    await server.stop();
  }
  return {
    server: () => server,
    async restart() {
      await stop();
      try {
        await launch();
      } finally {
        // Also over one that did not come: it is started again like one that ended.
        void follow();
      }
    },
    stop,
  };
}
