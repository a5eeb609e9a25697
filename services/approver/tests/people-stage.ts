import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import type { EventLog } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import {
  type AggregateId,
  type EventDraft,
  foldRecord,
  type StoredEvent,
  type UnprovenWord,
} from '@rollcall/shared/events';
import type { KubeClient, KubeObject } from '@rollcall/shared/kubernetes';
import type { Logger } from '@rollcall/shared/service';
import { openUnproven } from '../admission/unattributed-changes.ts';
import type { AdmissionGate } from '../admission/while-admission-in-place.ts';
import type { FleetView } from '../fleet/fleet-view.ts';
import { followUserChanges, type Listening, type PeopleParts } from '../people/user-changes.ts';
import { heartbeat, nowMs, stored } from './builders.ts';

const silent = (): void => undefined;
const logger: Logger = { debug: silent, info: silent, warn: silent, error: silent, child: () => logger };

/** One resource's watch, in which a test says what the API server tells. */
class Watch {
  readonly stream = new PassThrough();
  tell(type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK', object: KubeObject): void {
    this.stream.write(`${JSON.stringify({ type, object })}\n`);
  }
  /** All that is there was told. */
  synced(): void {
    const annotations = { 'k8s.io/initial-events-end': 'true' };
    this.tell('BOOKMARK', {
      apiVersion: 'v1',
      kind: 'Bookmark',
      metadata: { resourceVersion: '1', annotations },
    } as KubeObject);
  }
}

/**
 * Stream, API server and admission policies in memory, for what cannot be timed with true ones: what comes between two steps of
 * one look.
 */
export function setPeopleStage(unprovenWords: readonly UnprovenWord[] = []) {
  const events: StoredEvent[] = [];
  const ending = new AbortController();
  const watches = new Map<string, Watch>();
  const stage = {
    events,
    /** Why the admission policies do not hold. */
    missing: undefined as string | undefined,
    looks: 0,
    /** What happens before each of these; a hook that throws makes the step fail. */
    before: { read: silent, append: silent, look: silent } as Record<
      'read' | 'append' | 'look',
      () => unknown
    >,
    write(...drafts: readonly EventDraft[]) {
      for (const each of drafts) events.push(stored(each, events.length + 1));
    },
    watch(plural: string): Watch {
      const watch = watches.get(plural) ?? new Watch();
      watches.set(plural, watch);
      return watch;
    },
    stop: () => ending.abort(),
  };
  const recordOf = ({ kind, id }: AggregateId) =>
    foldRecord(
      { kind, id },
      events.filter((event) => event.kind === kind && event.id === id),
    );
  const log = {
    async read(aggregate: AggregateId) {
      await stage.before.read();
      return recordOf(aggregate);
    },
    async *scan() {},
    async append(drafts: readonly EventDraft[]) {
      await stage.before.append();
      if (drafts.some((each) => recordOf(each.aggregate).head?.sequence !== each.head?.sequence))
        throw new RollcallError('APPEND_CONFLICT', 'somebody was faster');
      stage.write(...drafts);
    },
  } as unknown as EventLog;
  const client = {
    async openStream(path: string) {
      const plural = path.split('?')[0]?.split('/').at(-1) ?? '';
      const { stream } = stage.watch(plural);
      return Object.assign(stream, {
        statusCode: 200,
        setTimeout: () => stream,
      }) as unknown as IncomingMessage;
    },
  } as unknown as KubeClient;
  const gate: AdmissionGate = {
    signal: ending.signal,
    unproven: openUnproven({ log, logger, words: unprovenWords, nowMs: () => nowMs }),
    async whyHeld() {
      stage.looks++;
      const { missing } = stage;
      await stage.before.look();
      return missing;
    },
  };
  const fleet = { now: async () => ({ counts: { clusters: 100 } }) } as unknown as FleetView;
  /** Hears people from here on: a small hub at rest, which puts out ten in a minute. */
  const hear = (changed: Partial<Pick<PeopleParts, 'arrivals'>> & { perMinute?: number } = {}): Listening =>
    followUserChanges({
      log,
      client,
      logger,
      gate,
      heartbeat,
      bulk: { fleet, limit: { perMinute: changed.perMinute ?? 10, share: 1 } },
      arrivals: changed.arrivals ?? { areUnderWay: () => false },
      leaveWaitMs: 1000,
      nowMs: () => nowMs,
    });
  return Object.assign(stage, { log, client, logger, gate, recordOf, hear });
}

/** Long enough for what was told to be read and acted on: everything is in memory. */
export const aMomentMs = 100;
