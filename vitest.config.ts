import { defineConfig } from 'vitest/config';
import { longPatterns } from './tools/long-tests.mjs';

const integration = {
  include: ['tests/**/*.test.ts', '{libs,services,agent,cli,console}/**/tests/**/*.test.ts'],
  // Of nodes only one run can have any; a soak needs the machine for itself.
  exclude: ['**/node_modules/**', 'tests/nodes/**', 'tests/soak/**'],
  setupFiles: ['tests/harness/own-ports.ts'],
  globalSetup: ['tests/harness/planes/plane-pool.ts'],
  // An API server that collects garbage a quarter as often starts with a fifth less CPU, and 120 MB more memory (measured).
  env: { GOGC: '400' },
};

/** What a test waits for comes; vitest's own second would only tell how busy the machine is. */
const expectations = { poll: { timeout: 30_000 } };

/** Real servers take seconds to start; these bounds only say when a hung test is given up. */
const patient = { testTimeout: 300_000, hookTimeout: 300_000, expect: expectations };

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{libs,services,agent,cli,console,tools,bench}/**/*.test.ts'],
          exclude: ['**/node_modules/**', '**/tests/**'],
          // A machine that builds at the same time takes many times as long for what is milliseconds alone.
          testTimeout: 60_000,
          expect: expectations,
          // Pure code: nothing is left behind for the next file. A process for each of some 200 files would cost more than the tests in it.
          isolate: false,
        },
      },
      {
        test: {
          name: 'integration',
          ...integration,
          ...patient,
          exclude: [...integration.exclude, ...longPatterns],
        },
      },
      { test: { name: 'long', ...integration, ...patient, include: longPatterns } },
      {
        test: {
          name: 'soak',
          ...integration,
          ...patient,
          include: ['tests/soak/**/*.test.ts'],
          exclude: ['**/node_modules/**'],
        },
      },
      {
        test: {
          name: 'nodes',
          ...patient,
          include: ['tests/nodes/**/*.test.ts'],
          // Two whole clusters start, and a hub in one of them.
          hookTimeout: 600_000,
          globalSetup: ['tests/nodes/set-up.ts'],
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'containers',
          ...integration,
          ...patient,
          globalSetup: [...integration.globalSetup, 'tests/containers/binaries-from-images.ts'],
        },
      },
    ],
    pool: 'forks',
    // The tests wait a good deal: on two cores the whole run takes 14 minutes with three, and 12 with four (measured).
    maxWorkers: 4,
  },
});
