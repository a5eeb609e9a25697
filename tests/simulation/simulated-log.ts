import type { EventLog, Facts, FactStore } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import {
  admissionAggregate,
  encodeEvent,
  firstTypes,
  foldRecord,
  type StoredEvent,
} from '@rollcall/shared/events';
import { isUnderAny } from './event-stream.ts';
import type { Replica } from './replica.ts';
import type { World } from './world.ts';

export const epoch = 1;

function busIsAway(what: string): RollcallError {
  return new RollcallError('BUS_UNREACHABLE', `the bus did not answer (${what})`);
}

/** The way to the bus or back. The process may end or stop on it. */
async function travel({ scheduler, random, faults }: World, replica: Replica): Promise<void> {
  const slowMs = faults.strikes('bus.slow') ? random.int(50, 4000) : 0;
  await scheduler.wait(slowMs + random.next() * 2, replica.life);
  await replica.step();
}

/** What is read is as old as the way back is long; the way there would only make it newer. */
async function look<Result>(world: World, replica: Replica, act: () => Result): Promise<Result> {
  const result = act();
  await travel(world, replica);
  return result;
}

async function write<Result>(world: World, replica: Replica, act: () => Result): Promise<Result> {
  await travel(world, replica);
  const result = act();
  await travel(world, replica);
  return result;
}

/** One after another, read when the first is asked for. */
export async function* inTurn(read: () => Promise<readonly StoredEvent[]>): AsyncGenerator<StoredEvent> {
  yield* await read();
}

/** The history as one replica sees it: over a bus that loses questions and answers. */
export function openSimulatedLog(world: World, replica: Replica): EventLog {
  const { stream, faults } = world;
  const mayFail = (what: string) => {
    if (faults.strikes('bus.read-fails')) throw busIsAway(what);
  };
  return {
    async read(aggregate) {
      // Admission policies are no part of the world: nothing was ever said of them, so that asking costs no time and no chance.
      if (aggregate.id === admissionAggregate.id) return foldRecord(aggregate, []);
      const events = await look(world, replica, () => stream.ofAggregate(aggregate));
      mayFail('read');
      return foldRecord(aggregate, events);
    },
    async readAll(filter) {
      const events = await look(world, replica, () => stream.newestUnder(filter));
      mayFail('read all');
      return events;
    },
    async *aggregates(kinds) {
      const filters = kinds.flatMap((kind) => firstTypes[kind].map((type) => `${kind}.*.${type}`));
      const isFirst = isUnderAny(filters);
      const found = await look(world, replica, () => {
        const all = Map.groupBy(stream.newestUnder('*.*.*'), ({ kind, id }) => `${kind}/${id}`);
        return [...all.values()].filter((events) => events.some(isFirst));
      });
      mayFail('aggregates');
      for (const [event] of found) if (event) yield { kind: event.kind, id: event.id };
    },
    async lastWords({ kind, writers, having, before, isSpared }, take) {
      const { newest, all } = await look(world, replica, () => ({
        newest: stream.newestUnder(`${kind}.*.*`),
        all: stream.from(1, `${kind}.*.*`),
      }));
      mayFail('last words');
      const give = (event: StoredEvent) => {
        const { writer } = event.definition;
        if (writers.includes(writer)) take({ ...event, writer, decode: () => event });
      };
      const writerOfHaving = all.find(({ type }) => type === having)?.definition.writer;
      const [ofWriter = [], others = []] = [true, false].map((isIt) =>
        newest.filter(({ definition }) => (definition.writer === writerOfHaving) === isIt),
      );
      for (const event of others) give(event);
      const allOfWriter = Map.groupBy(
        all.filter(({ definition }) => definition.writer === writerOfHaving),
        ({ id }) => id,
      );
      for (const [id, events] of Map.groupBy(ofWriter, (event) => event.id)) {
        const types = (allOfWriter.get(id) ?? []).map(({ type }) => type);
        const isPlain = types.toSorted().join() === [having, ...(before ? [before] : [])].toSorted().join();
        if (!isPlain || !isSpared?.(id)) for (const event of events) give(event);
      }
    },
    scan: ({ filter = '>', fromSequence = 1 }) =>
      inTurn(async () => {
        const events = await look(world, replica, () => stream.from(fromSequence, filter));
        mayFail('scan');
        return events;
      }),
    // As the heartbeat service is told of it (heartbeat-replica.ts).
    heard(message) {
      const { event } = message as unknown as { readonly event: StoredEvent };
      return { ...event, decode: () => event };
    },
    async append(drafts, trace) {
      const stamp = { epoch, source: `/rollcall/${replica.service}`, nowMs: Date.now(), ...trace };
      const events = drafts.map((draft) => encodeEvent(draft, stamp));
      if (events.length === 0) return;
      if (faults.strikes('bus.append-fails')) {
        await write(world, replica, () => undefined);
        throw busIsAway('append, nothing stored');
      }
      const isStored = await write(world, replica, () => {
        world.writing = replica;
        return stream.append(events);
      });
      const subjects = events.map(({ subject }) => subject).join(', ');
      if (!isStored) {
        world.conflicts++;
        world.note(replica.life.name, () => `lost the race for ${subjects}`);
        throw new RollcallError('APPEND_CONFLICT', 'another writer was faster');
      }
      if (faults.strikes('bus.append-answer-lost')) {
        world.note(replica.life.name, () => `does not hear that ${subjects} was stored`);
        throw busIsAway('append, stored');
      }
    },
  };
}

/** Stream FACTS: the newest of each cluster. */
export class FactState {
  readonly #facts = new Map<string, { facts: Facts; sequence: number; epoch: number }>();
  #sequence = 0;
  put(clusterId: string, facts: Facts): void {
    this.#facts.set(clusterId, { facts, sequence: ++this.#sequence, epoch });
  }
  get(clusterId: string) {
    return this.#facts.get(clusterId);
  }
  forget(clusterId: string, sequence: number): void {
    if (this.#facts.get(clusterId)?.sequence === sequence) this.#facts.delete(clusterId);
  }
}

export function openSimulatedFacts(world: World, replica: Replica): FactStore {
  return {
    async put(clusterId, facts) {
      await write(world, replica, () => world.facts.put(clusterId, facts));
      world.factsChanged(clusterId);
    },
    get: (clusterId) => look(world, replica, () => world.facts.get(clusterId)),
    forget: (clusterId, sequence) => write(world, replica, () => world.facts.forget(clusterId, sequence)),
  };
}
