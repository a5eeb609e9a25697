/** A decoder of something that comes from outside, as the fuzzer drives it. */
export interface FuzzedDecoder {
  readonly name: string;
  /** What samples are, before `seal`: how they are changed with sense. */
  readonly form: 'json' | 'text' | 'bytes';
  /** Valid bodies; at least one of them is taken. */
  readonly samples: readonly Uint8Array[];
  /** For texts: what means something to the decoder. */
  readonly words?: readonly string[];
  /** Larger inputs cannot reach it; default: what the server lets an agent send. */
  readonly maxBytes?: number;
  /** Makes of a body what the decoder is given, as an attacker can: signed by a key of its own, or with the right digest. */
  seal?(body: Uint8Array): Uint8Array;
  /**
   * Decodes, and follows what was taken as far as our own code would: to the event, where there is one.
   * @throws RollcallError for what is refused, and what `mayThrow` names; anything else is a finding
   */
  decode(input: Uint8Array): Outcome | Promise<Outcome>;
  /** What the contract of the decoder says beside RollcallError. */
  mayThrow?(thrown: unknown): boolean;
  close?(): Promise<void>;
}

export type Outcome = 'taken' | 'refused';

/** What was taken should not have been, or something follows from it that must not. */
export class BrokenPromise extends Error {}

export function must(isSo: boolean, promise: string): asserts isSo {
  if (!isSo) throw new BrokenPromise(promise);
}

/** An error of ours that comes after the decoder has taken the input is no refusal any more. */
export function following<Result>(what: string, follow: () => Result): Result {
  try {
    return follow();
  } catch (cause) {
    throw cause instanceof BrokenPromise
      ? cause
      : new BrokenPromise(`${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
export const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
export const jsonBytes = (value: unknown): Uint8Array => bytesOf(JSON.stringify(value));
