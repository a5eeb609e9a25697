import { createInterface } from 'node:readline/promises';
import { RollcallError } from '@rollcall/shared/errors';

/**
 * Asks the person at the terminal; anything but yes is no.
 * @throws RollcallError USAGE where nobody can be asked
 */
export async function confirmed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new RollcallError('USAGE', 'there is no terminal to ask at; give --yes if this is meant');
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim());
  } catch (thrown) {
    // Ctrl-C or Ctrl-D is an answer, too.
    if (thrown instanceof Error && thrown.name === 'AbortError') return false;
    throw thrown;
  } finally {
    terminal.close();
  }
}
