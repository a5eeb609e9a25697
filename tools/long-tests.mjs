/**
 * Test files and folders of `npm run test:long`: long ranges (seeds, simulated years, kills), restores and upgrades of whole hubs,
 * network namespaces, and charts on several servers, and what `npm test` shows of some for all. `npm test` runs all others.
 */
export const longTests = [
  'cli/tests/pasted-hints.test.ts',
  'console/tests/views.test.ts',
  'services/approver/tests/admission.test.ts',
  'services/rbac-provisioner/tests/held-namespaces.test.ts',
  'tests/admission/each-weakened.test.ts',
  'tests/bounds/',
  'tests/bus/linearizability.test.ts',
  'tests/bus/lists.test.ts',
  'tests/bus/power-cut.test.ts',
  'tests/chaos/',
  'tests/charts/hosted-hub.test.ts',
  'tests/charts/hub-chart.test.ts',
  'tests/charts/lost-history.test.ts',
  'tests/charts/restore.test.ts',
  'tests/charts/rotate.test.ts',
  'tests/charts/three-servers.test.ts',
  'tests/charts/upgrade.test.ts',
  'tests/docs/pages.test.ts',
  'tests/e2e/archive.test.ts',
  'tests/e2e/backup-while-joining.test.ts',
  'tests/e2e/full-disk.test.ts',
  'tests/e2e/hosting-moved.test.ts',
  'tests/e2e/lost-history.test.ts',
  'tests/e2e/member-access-leaks.test.ts',
  'tests/e2e/member-access-restarts.test.ts',
  'tests/e2e/networks.test.ts',
  'tests/e2e/processes.test.ts',
  'tests/e2e/restore-interrupted.test.ts',
  'tests/e2e/restore.test.ts',
  'tests/e2e/simulated-fleet.test.ts',
  'tests/e2e/slow-disk.test.ts',
  'tests/e2e/three-servers.test.ts',
  'tests/e2e/thundering-herd.test.ts',
  'tests/e2e/trust.test.ts',
  'tests/e2e/up-killed-nats.test.ts',
  'tests/e2e/up-lost-history.test.ts',
  'tests/e2e/upgrade-state.test.ts',
  'tests/rights/can-i-nothing-else.test.ts',
  'tests/simulation/',
  'tests/upgrade/',
];

/** For vitest. */
export const longPatterns = longTests.map((path) => (path.endsWith('/') ? `${path}**/*.test.ts` : path));

/** @param {string} file - relative to the repository */
export function isLongTest(file) {
  return longTests.some((path) => (path.endsWith('/') ? file.startsWith(path) : file === path));
}
