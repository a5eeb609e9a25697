import { setTimeout as delay } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/transport-node';
import {
  connectBus,
  type DeadLetter,
  dropDeadLetter,
  readDeadLetters,
  retryDeadLetter,
} from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import { temporaryUser } from '../backup/temporary-user.ts';
import { timeoutFlagMs } from '../duration-flag.ts';
import { type KeysFlags, openHubAnywhere } from '../install/hub/hub-in-pods.ts';
import type { Outcome } from '../get/print-objects.ts';
import { say } from '../terminal/output.ts';
import { withProgress } from '../terminal/progress.ts';
import { printable } from '../terminal/printable.ts';
import { stateDirectory } from '../state-directory.ts';
import { eventOf } from './list-dead.ts';

export interface MendFlags extends KeysFlags {
  readonly all?: boolean;
  readonly timeout: string;
  readonly dryRun?: boolean;
}

const lookAgainMs = 500;

/** @throws RollcallError USAGE, NOT_FOUND for an id that is no dead letter */
export function chosenLetters(
  letters: readonly DeadLetter[],
  ids: readonly string[],
  all: boolean,
): readonly DeadLetter[] {
  if (all === ids.length > 0) throw new RollcallError('USAGE', 'name dead letters by their ids, or --all');
  if (all) return letters.filter(({ isHeld }) => !isHeld);
  return ids.map((id) => {
    const letter = letters.find((one) => String(one.id) === id);
    if (!letter) throw new RollcallError('NOT_FOUND', `there is no dead letter "${id}"`);
    if (letter.isHeld)
      throw new RollcallError('USAGE', `"${id}" is held for a newer version, which handles it by itself`);
    return letter;
  });
}

const wordsOf = ({ id, service, subject, code, message }: DeadLetter) =>
  printable(`${id}: ${service}, ${eventOf({ subject })} (${code}: ${message})`);

const isSame = (one: DeadLetter, other: DeadLetter) =>
  one.service === other.service && one.sequence === other.sequence;

/** The service takes them up when it looks next, within a minute, and either handles one or moves it to the dead letters again. */
async function untilTakenUp(
  nc: NatsConnection,
  retried: readonly DeadLetter[],
  timeoutMs: number,
): Promise<string> {
  for (const deadlineMs = performance.now() + timeoutMs; ; await delay(lookAgainMs)) {
    const now = await readDeadLetters(nc);
    const waiting = retried.filter((letter) => now.some((one) => one.isHeld && isSame(one, letter)));
    if (waiting.length === 0) {
      const again = now.filter((one) => !one.isHeld && retried.some((letter) => isSame(one, letter)));
      for (const letter of again) say(`dead again: ${wordsOf(letter)}`);
      if (again.length > 0)
        throw new RollcallError('RETRY_IN_VAIN', `${again.length} of ${retried.length} could not be handled`);
      return `handled: ${retried.length}`;
    }
    if (performance.now() > deadlineMs) {
      const services = [...new Set(waiting.map(({ service }) => service))].join(', ');
      throw new RollcallError(
        'DEADLINE_EXCEEDED',
        `${waiting.length} of ${retried.length} were not taken up within ${timeoutMs / 1000} s by ${services}; they are held until they are`,
      );
    }
  }
}

async function drop(nc: NatsConnection, letters: readonly DeadLetter[]): Promise<string> {
  let dropped = 0;
  for (const letter of letters) {
    if (await dropDeadLetter(nc, letter)) dropped++;
    else say(`moved to the dead letters again meanwhile, and left: ${wordsOf(letter)}`);
  }
  return `dropped: ${dropped}`;
}

/**
 * `rollcall dead retry` and `dead drop`, on the machine that holds the hub's keys: people's own bus user only reads.
 * @throws RollcallError USAGE, NOT_FOUND, HUB_MISSING, KEYS_OFFLINE, BUS_UNREACHABLE, DEADLINE_EXCEEDED, RETRY_IN_VAIN
 */
export async function mendDead(
  verb: 'retry' | 'drop',
  ids: readonly string[],
  flags: MendFlags,
): Promise<Outcome> {
  const timeoutMs = timeoutFlagMs(flags.timeout);
  const { files, close } = await openHubAnywhere(flags.keys ?? stateDirectory(), flags);
  const connect = async () =>
    connectBus(files.address, temporaryUser(files.stateDir, files.read('hub'), 'mend'), 'mend');
  const nc = await connect().finally(close);
  try {
    const letters = await withProgress('reading', readDeadLetters(nc));
    const chosen = chosenLetters(letters, ids, flags.all ?? false);
    for (const letter of chosen) say(wordsOf(letter));
    if (chosen.length === 0) return { words: 'No dead letters.', isNothingDone: true };
    if (flags.dryRun) return { words: 'dry run; nothing was changed', isNothingDone: true };
    if (verb === 'drop') return { words: await drop(nc, chosen) };
    for (const letter of chosen) await retryDeadLetter(nc, letter);
    const words = await withProgress('waiting for the services', untilTakenUp(nc, chosen, timeoutMs));
    return { words };
  } finally {
    await nc.close();
  }
}
