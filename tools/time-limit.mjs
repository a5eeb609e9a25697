/** Twice what a whole run takes on a busy machine of two cores; CI gives up after 90 minutes and then says nothing. */
const limitMs = 60 * 60_000;

/**
 * A reporter of vitest that ends a run which takes far too long, and names the test files that were still at it: a test that waits
 * for ever would otherwise use up the time of everything, one timeout after the other.
 */
export default class TimeLimit {
  /** @type {Map<string, { test: string | undefined }>} */
  #running = new Map();
  /** @type {NodeJS.Timeout | undefined} */
  #timer;

  /** @param {{ cancelCurrentRun(reason: 'test-failure'): Promise<void> }} vitest */
  onInit(vitest) {
    const allowedMs = Number(process.env.ROLLCALL_TEST_LIMIT_MS ?? limitMs);
    this.#timer = setTimeout(() => {
      for (const [file, { test }] of this.#running)
        console.error(`\nstill running after ${allowedMs / 1000} s: ${file}, ${test ?? 'between its tests'}`);
      process.exitCode = 1;
      void vitest.cancelCurrentRun('test-failure');
    }, allowedMs);
    this.#timer.unref();
  }

  /** @param {{ relativeModuleId: string }} module */
  onTestModuleStart({ relativeModuleId }) {
    this.#running.set(relativeModuleId, { test: undefined });
  }

  /** @param {{ fullName: string, module: { relativeModuleId: string } }} test */
  onTestCaseReady({ fullName, module }) {
    const file = this.#running.get(module.relativeModuleId);
    if (file) file.test = fullName;
  }

  /** @param {{ relativeModuleId: string }} module */
  onTestModuleEnd({ relativeModuleId }) {
    this.#running.delete(relativeModuleId);
  }

  onTestRunEnd() {
    clearTimeout(this.#timer);
  }
}
