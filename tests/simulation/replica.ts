import type { StoredEvent } from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';
import { RollcallError } from '@rollcall/shared/errors';
import type { LivenessEngine } from '../../services/heartbeat/engine/liveness-engine.ts';
import type { Consumer } from './delivery.ts';
import type { FaultKind } from './faults.ts';
import type { Life } from './scheduler.ts';
import { SignsOfLife } from './signs-of-life.ts';
import { Violation } from './violation.ts';
import { inLife } from './virtual-process.ts';
import type { World } from './world.ts';

export const serviceNames = [
  'registrar',
  'approver',
  'rbac-provisioner',
  'heartbeat',
  'projector',
  'account-controller',
] as const;
export type ServiceName = (typeof serviceNames)[number];

/** Ends what waits for it: there is no way on in a process that has ended. A new one each time, or all of them are kept. */
const end = () => new Promise<never>(() => undefined);

/** One process of a service, with its own clock. It may end or be stopped for a while between any two of its steps. */
export class Replica {
  readonly service: ServiceName;
  readonly life: Life;
  /** Set once it works. */
  consumer: Consumer | undefined;
  readonly handling = new Set<object>();
  /** Changes that the API server took from it, in the newest second in which it did. */
  readonly writes = { second: 0, count: 0 };
  /** What came to it of each cluster: what it writes of it must follow from that. */
  readonly signsOfLife = new SignsOfLife();
  /** Of the heartbeat service: what it has heard, for the other replicas. */
  engine: LivenessEngine | undefined;
  readonly #world: World;
  readonly #stopping = new AbortController();
  #listener: ((what: Heard) => void) | undefined;
  /** Asked for at every step, so not put together each time. */
  readonly #crash: FaultKind;
  readonly #pause: FaultKind;

  constructor(world: World, service: ServiceName, options: { name: string; skewMs: number }) {
    this.#world = world;
    this.service = service;
    this.#crash = `crash.${service}`;
    this.#pause = `pause.${service}`;
    this.life = { name: options.name, isAlive: true, pausedUntilMs: 0, skewMs: options.skewMs };
  }

  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /**
   * What it gives others: how the registrar is asked, how the heartbeat service hears. Given over, not assigned: V8 makes
   * a function that is assigned to a property where old things are, and the whole world around it stays for as long.
   */
  listen(listener: (what: Heard) => void): void {
    this.#listener = listener;
  }

  hear(what: Heard): void {
    this.#listener?.(what);
  }

  /** A place where it may be struck; mostly it is not, and there is nothing to wait for. */
  step(): Promise<void> | undefined {
    const { faults } = this.#world;
    if (!this.life.isAlive) return end();
    if (faults.strikes(this.#crash)) {
      this.#world.crash(this);
      return end();
    }
    return faults.strikes(this.#pause) ? this.#standStill() : undefined;
  }

  #standStill(): Promise<void> {
    const { random, scheduler } = this.#world;
    const pauseMs = random.int(2000, 70_000);
    this.#world.note(this.life.name, () => `is stopped for ${Math.round(pauseMs / 1000)} s`);
    this.life.pausedUntilMs = scheduler.nowMs + pauseMs;
    return scheduler.wait(0, this.life);
  }

  /** Runs code of this process; what it throws is a bug, in the services or here. */
  run(work: () => Promise<void>): void {
    const world = this.#world;
    inLife(this.life, work).catch((error: unknown) => {
      world.fail(
        error instanceof Violation
          ? error
          : new Violation('nothing is thrown that nobody catches', `${this.life.name}: ${stackOf(error)}`),
      );
    });
  }

  /** Our own errors are part of life; anything else that is logged is a bug. */
  get logger(): Logger {
    const world = this.#world;
    const { name } = this.life;
    const say = (fields: { err?: Error }, message: string) => {
      const { err } = fields;
      world.note(name, () => `${message}${err ? `: ${err.message}` : ''}`);
      if (err && (!(err instanceof RollcallError) || err.code === 'UNEXPECTED'))
        world.fail(new Violation('no unexpected error', `${name}: ${message}: ${stackOf(err)}`));
    };
    const quiet = () => undefined;
    const logger: Logger = { debug: quiet, info: quiet, warn: say, error: say, child: () => logger };
    return logger;
  }

  end(): void {
    this.life.isAlive = false;
  }
}

/** What comes to a process without an acknowledgement. */
export type Heard =
  | { readonly kind: 'ask'; readonly subject: string; readonly data: Uint8Array }
  | { readonly kind: 'heartbeat'; readonly clusterId: string; readonly flags: number }
  | { readonly kind: 'event'; readonly event: StoredEvent }
  | { readonly kind: 'facts'; readonly clusterId: string };

function stackOf(error: unknown): string {
  const root = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return root instanceof Error ? (root.stack ?? root.message) : String(root);
}
