/**
 * @typedef {object} TestReport - what we read of vitest's JSON report
 * @property {{ name: string, status: string, assertionResults: { status: string, title?: string, ancestorTitles?: string[], failureMessages?: string[] }[] }[]} testResults - one a file
 */

/**
 * Counts tests so that nothing that went wrong is counted as nothing: a file that cannot be loaded has no tests, an
 * error outside of every test has no file, and a run without a single test proves nothing. Each is one failure.
 * @param {TestReport | undefined} report - undefined when the test runner wrote none
 * @param {number} exitCode - of the test runner
 * @returns {{ passed: number, failed: number }} skipped tests are in neither
 */
export function countTests(report, exitCode) {
  let passed = 0;
  let failed = 0;
  for (const file of report?.testResults ?? []) {
    const count = (/** @type {string} */ status) =>
      file.assertionResults.filter((test) => test.status === status).length;
    const failedHere = count('failed');
    passed += count('passed');
    failed += file.status === 'failed' ? Math.max(1, failedHere) : failedHere;
  }
  const isSilent = failed === 0 && (exitCode !== 0 || passed === 0);
  return { passed, failed: isSilent ? 1 : failed };
}

/**
 * What failed and why, a line each: it is told once more at the end of a run, whose output is long.
 * @param {TestReport | undefined} report
 * @param {(file: string) => string} shown - how a file is named
 * @returns {string[]}
 */
export function failedTests(report, shown) {
  return (report?.testResults ?? []).flatMap((file) => {
    const failed = file.assertionResults.filter(({ status }) => status === 'failed');
    if (failed.length === 0) return file.status === 'failed' ? [shown(file.name)] : [];
    return failed.map(({ ancestorTitles = [], title = '', failureMessages = [] }) => {
      const [why] = failureMessages.map((message) => message.split('\n', 1)[0]);
      return [shown(file.name), ...ancestorTitles, why ? `${title}: ${why}` : title].join(' > ');
    });
  });
}
