import { writeFileSync } from 'node:fs';

/**
 * A reporter of vitest for what its JSON report leaves out: the test files in which an error was thrown outside of every test,
 * written as a JSON list to the file that `ROLLCALL_UNHANDLED_FILES` names. null stands for an error of no file, and for a run that was
 * ended before its tests had run.
 */
export default class UnhandledFiles {
  /**
   * @param {unknown} _modules
   * @param {readonly { VITEST_TEST_PATH?: string }[]} errors
   * @param {'passed' | 'failed' | 'interrupted'} reason
   */
  onTestRunEnd(_modules, errors, reason) {
    const { ROLLCALL_UNHANDLED_FILES: file } = process.env;
    if (file === undefined) return;
    const files = errors.map((error) => error.VITEST_TEST_PATH ?? null);
    writeFileSync(file, JSON.stringify(reason === 'interrupted' ? [...files, null] : files));
  }
}
