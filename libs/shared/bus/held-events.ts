import { jetstream } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import { asBusError } from './bus-error.ts';
import { directGet } from './reads/direct-get.ts';
import { type RawMessage, textOf } from './reads/raw-message.ts';

/** Where an event stands that was put aside, and why. */
export interface HeldNote {
  readonly service: string;
  readonly subject: string;
  readonly sequence: number;
  readonly code: string;
  readonly message: string;
  readonly deliveries: number;
}

/** A note as it is found again. */
export interface HeldEvent {
  /** Of the event, in EVENTS. */
  readonly sequence: number;
  /** Of the note, in DEAD. */
  readonly id: number;
}

/**
 * The events that one service has put aside because a newer Rollcall wrote them: a note each in stream DEAD, on a subject
 * of its own. The event itself stays in EVENTS, where an archive takes nothing that a note names.
 */
export interface HeldEvents {
  /** @throws RollcallError BUS_UNREACHABLE; the event is then not put aside */
  put(note: HeldNote): Promise<void>;
  /** Notes after that one of DEAD, oldest first, at most 256. */
  after(id: number): Promise<HeldEvent[]>;
  /** The event itself, as the stream has it. */
  eventAt(sequence: number): Promise<RawMessage | undefined>;
  /**
   * It cannot be handled, and no retry helps: the note becomes a dead letter.
   * @throws RollcallError BUS_UNREACHABLE; the note is still there then
   */
  moveToDead(letter: HeldNote & { readonly body: string }): Promise<void>;
  /** It was handled: the note goes. */
  done(sequence: number): Promise<void>;
}

const batch = 256;
/** The body of a note that is done. */
const handled = '{}';

export function openHeldEvents(nc: NatsConnection, service: string): HeldEvents {
  const js = jetstream(nc);
  const subjectOf = (sequence: number) => `rollcall.held.${service}.${sequence}`;

  async function publish(subject: string, body: unknown, meta: Readonly<Record<string, string>> = {}) {
    const all = headers();
    for (const [name, value] of Object.entries(meta)) all.set(name, value);
    await js.publish(subject, JSON.stringify(body), { headers: all }).catch((cause: unknown) => {
      throw asBusError(cause);
    });
  }
  // A service may delete nothing; what it may is to put a message that ends by itself in the place of its own note.
  const done = (sequence: number) => publish(subjectOf(sequence), {}, { 'Nats-TTL': '1s' });

  return {
    // Dead letters end after 30 days; what is held does not.
    put: (note) => publish(subjectOf(note.sequence), note, { 'Nats-TTL': 'never' }),
    async after(id) {
      const query = { seq: id + 1, batch, next_by_subj: subjectOf(0).replace(/0$/, '*') };
      const notes = await directGet(nc, 'DEAD', query);
      // What was just handled stands there for a second more: taken up again, it would stand there for ever.
      const open = notes.filter((note) => textOf(note) !== handled);
      return open.map(({ subject, sequence }) => ({ sequence: Number(subject.split('.')[3]), id: sequence }));
    },
    async eventAt(sequence) {
      const [found] = await directGet(nc, 'EVENTS', { seq: sequence, batch: 1 });
      return found?.sequence === sequence ? found : undefined;
    },
    async moveToDead(letter) {
      // First the letter: a crash in between leaves both, and nothing is lost.
      await publish(`rollcall.dead.${service}.${letter.sequence}`, letter);
      await done(letter.sequence);
    },
    done,
  };
}
