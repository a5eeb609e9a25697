import { endQuietlyWithoutReader } from './terminal/output.ts';
import { reportError } from './report-error.ts';

/** Enough for what was printed to be read. */
const leftoversEndAfterMs = 1000;

/** What every program of ours does around its work: it says what went wrong, and then it ends. */
export async function runToEnd(work: () => Promise<void>): Promise<void> {
  endQuietlyWithoutReader();
  try {
    await work();
  } catch (thrown) {
    process.exitCode = reportError(thrown);
    // A service that could not begin may have left something running; its supervisor waits for the end of the process.
    setTimeout(() => process.exit(), leftoversEndAfterMs).unref();
  }
}
