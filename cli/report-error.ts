import { toRollcallError } from '@rollcall/shared/errors';
import { exitCodeOf } from './exit-code.ts';
import { say } from './terminal/output.ts';

/** Says what went wrong and what to do about it: the only place that prints errors. @returns the exit code */
export function reportError(thrown: unknown): number {
  const error = toRollcallError(thrown);
  // Further lines stand apart: what a message quotes cannot pass for a hint of ours, or for a line of a log.
  say(`error: ${error.message.replaceAll('\n', '\n  ')}`);
  if (error.code === 'UNEXPECTED' && thrown instanceof Error && thrown.stack) say(thrown.stack);
  say(`hint: ${error.hint}`);
  say(`code: ${error.code}`);
  return exitCodeOf(error);
}
