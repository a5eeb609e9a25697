import { setTimeout as delay } from 'node:timers/promises';
import type { EventLog } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import {
  admissionAggregate,
  admissionOf,
  type AggregateRecord,
  createEventId,
  type EventDraft,
  type UnprovenWord,
} from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';
import type { AdmissionProbe, AdmissionState } from './probe.ts';
import {
  decideMissing,
  decideInPlace,
  openUnproven,
  provenList,
  type Unproven,
} from './unattributed-changes.ts';

/** Policies take effect, and lose it, up to two seconds after they were written (measured); twice that, on each API server. */
const lagMs = 4000;
const againFirstMs = 250;
const againMostMs = 30_000;

/** For as long as one set of admission policies holds. */
export interface AdmissionGate {
  /** Aborted when another set of policies takes its place. */
  readonly signal: AbortSignal;
  readonly unproven: Unproven;
  /**
   * To be called after something was read, before it is acted on.
   * @returns why it may have been written while the policies did not hold, or undefined
   */
  whyHeld(): Promise<string | undefined>;
}

/** What reads people's words; begun anew for each set of policies, so that it reads all of them again. */
export interface Hearing {
  /** The policies could not be looked at for a while, or held nobody, and are the same as before. */
  lookAgain(): void;
  drain(): Promise<void>;
}

export interface WhileInPlaceParts<H extends Hearing> {
  readonly log: Pick<EventLog, 'read' | 'append'>;
  readonly logger: Logger;
  readonly probe: AdmissionProbe;
  nowMs(): number;
  /**
   * What was written before now and is not in force.
   * @param bornAfterMs - but for what was made since then and never changed
   */
  collect(bornAfterMs?: number): Promise<readonly UnprovenWord[]>;
  hear(gate: AdmissionGate): H;
}

export interface WhileInPlace<H extends Hearing> {
  /** What hears people now; undefined while nothing that they write can be acted on. */
  current(): H | undefined;
  /** How much of what people wrote does not count. */
  unprovenCount(): number;
  /** Why people are not heard although the policies may hold, or undefined: they are, or somebody has to put the policies back. */
  notReady(): string | undefined;
  /** The probe has another answer. */
  changed(): void;
  drain(): Promise<void>;
}

/**
 * Hears people while the admission policies hold. Whenever a set of policies begins to hold that was not seen to hold all the time,
 * what stands in Kubernetes then and is not in force was written by nobody knows whom: it is listed in an event and does not
 * count until it is written again. Then everything is read anew, and what differs from the list was written later.
 */
export function whileInPlace<H extends Hearing>(parts: WhileInPlaceParts<H>): WhileInPlace<H> {
  const { log, logger, probe, nowMs } = parts;
  const ending = new AbortController();
  let session:
    | {
        readonly version: string;
        readonly stop: AbortController;
        readonly unproven: Unproven;
        readonly hearing: H;
      }
    | undefined;
  let running: Promise<void> | undefined;
  let isDue = false;

  const say = (decide: (record: AggregateRecord) => EventDraft[]) =>
    decideAndAppend(
      log,
      { gather: () => log.read(admissionAggregate), decide },
      { correlation: createEventId(nowMs()) },
    );

  /** @returns the list, or undefined: the policies have changed meanwhile */
  async function establish(version: string): Promise<readonly UnprovenWord[] | undefined> {
    const before = await log.read(admissionAggregate);
    const proven = provenList(before, version);
    if (proven) return proven;
    const known = admissionOf(before);
    const { kindUid, installedAtMs } = await probe.installation();
    const bornAfterMs = known?.kindUid === kindUid ? undefined : installedAtMs;
    const isFirst = known === undefined && bornAfterMs !== undefined;
    if (!isFirst) await delay(lagMs, undefined, { signal: ending.signal });
    if ((await probe.tryAll()).version !== version) return undefined;
    const unproven = await parts.collect(bornAfterMs);
    if ((await probe.check()).version !== version) return undefined;
    await say((record) => decideInPlace({ record, version, kindUid, unproven }));
    const after = await log.read(admissionAggregate);
    const said = admissionOf(after);
    if (!said?.inPlace || said.version !== version) return undefined;
    for (const { object, word } of said.unproven)
      logger.warn(
        { code: 'ADMISSION_MISSING', object, reason: word },
        'does not count until it is written again',
      );
    if (said.unlisted !== undefined)
      logger.warn(
        { code: 'ADMISSION_MISSING', count: said.unlisted },
        'so much more does not count until it is written again',
      );
    return provenList(after, version) ?? unproven;
  }

  async function end(): Promise<void> {
    const ended = session;
    session = undefined;
    ended?.stop.abort();
    await ended?.hearing.drain();
    await ended?.unproven.drain();
  }

  async function begin(version: string): Promise<boolean> {
    await end();
    const words = await establish(version);
    if (!words || ending.signal.aborted) return false;
    const stop = new AbortController();
    const unproven = openUnproven({ log, logger, words, nowMs });
    const hearing = parts.hear({
      signal: stop.signal,
      unproven,
      async whyHeld() {
        const state: AdmissionState = await probe.check();
        if (state.version === version) return undefined;
        return state.missing ?? 'the admission policies were written anew';
      },
    });
    session = { version, stop, unproven, hearing };
    return true;
  }

  async function adjust(): Promise<void> {
    const { version, isWeak, missing } = probe.state();
    if (isWeak && missing !== undefined) await say((record) => decideMissing({ record, problem: missing }));
    if (version === undefined) return;
    if (session?.version === version) session.hearing.lookAgain();
    else if (!(await begin(version)))
      throw new RollcallError('ADMISSION_MISSING', 'the admission policies were written anew meanwhile');
  }

  async function run(): Promise<void> {
    for (let failures = 0; isDue && !ending.signal.aborted;) {
      isDue = false;
      try {
        await adjust();
        failures = 0;
      } catch (thrown) {
        if (ending.signal.aborted) return;
        const delayMs = Math.min(againFirstMs * 2 ** failures++, againMostMs);
        logger.warn({ err: toRollcallError(thrown), delayMs }, 'what people write waits');
        await delay(delayMs, undefined, { signal: ending.signal }).catch(() => undefined);
        isDue = true;
      }
    }
  }

  function changed(): void {
    isDue = true;
    running ??= run().finally(() => {
      running = undefined;
      if (isDue && !ending.signal.aborted) changed();
    });
  }

  return {
    current: () => session?.hearing,
    notReady() {
      const isComing = !probe.isProbed() || probe.state().missing === undefined;
      return session || !isComing ? undefined : 'what people wrote before is being looked at';
    },
    unprovenCount: () => session?.unproven.count() ?? 0,
    changed,
    async drain() {
      ending.abort(new Error('stopping'));
      await running;
      await end();
    },
  };
}
