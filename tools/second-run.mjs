/**
 * @typedef {import('./count-tests.mjs').TestReport} TestReport
 * @typedef {object} TestRun - one run of the test runner
 * @property {TestReport | undefined} report - undefined when it wrote none
 * @property {readonly (string | null)[]} unhandled - files of errors outside of every test; null: of no file
 * @property {number} exitCode
 */

/** More files than these do not fail by chance. */
const mostFiles = 5;

/**
 * The files to run once more by themselves: tests of real processes that share two cores meet a busy moment now and then, and one
 * that fails twice, the second time alone, does not do so by chance.
 * @param {TestRun} run
 * @returns {string[]} none when all passed, when it is no accident, or when nobody knows which file it was
 */
export function filesToRunAgain({ report, unhandled, exitCode }) {
  if (exitCode === 0 || !report) return [];
  const failed = report.testResults.filter(({ status }) => status === 'failed').map(({ name }) => name);
  const files = new Set([...failed, ...unhandled]);
  return files.size > mostFiles || files.has(null) ? [] : [...files].filter((file) => file !== null);
}

/**
 * What both runs say together: of the files that ran again, the second time counts.
 * @param {TestRun} first
 * @param {TestRun} second - of `filesToRunAgain(first)`
 * @returns {{ run: TestRun, unsteady: string[] }} `unsteady`: files that failed and then passed, to be told to people
 */
export function withSecondRun(first, second) {
  const again = filesToRunAgain(first);
  const secondResults = second.report?.testResults ?? [];
  const resultOf = (/** @type {string} */ file) => secondResults.find(({ name }) => name === file);
  const before = first.report?.testResults.filter(({ name }) => !again.includes(name)) ?? [];
  const missing = again.filter((file) => !resultOf(file));
  return {
    run: {
      report: {
        testResults: [
          ...before,
          ...secondResults,
          ...missing.map((name) => ({ name, status: 'failed', assertionResults: [] })),
        ],
      },
      unhandled: second.unhandled,
      exitCode: second.exitCode,
    },
    unsteady: again.filter((file) => resultOf(file)?.status === 'passed' && !second.unhandled.includes(file)),
  };
}
