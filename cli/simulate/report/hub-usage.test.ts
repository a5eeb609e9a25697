import { expect, test } from 'vitest';
import { countWrites } from './hub-usage.ts';

test('writes are what changed something: no reads, no dry runs, nothing that was refused', () => {
  const line = (verb: string, code: number, dryRun: string, count: number) =>
    `apiserver_request_total{code="${code}",component="apiserver",dry_run="${dryRun}",group="rollcall.dev",resource="managedclusters",verb="${verb}",version="v1alpha1"} ${count}`;
  const metrics = [
    '# HELP apiserver_request_total Counter of apiserver requests',
    line('POST', 201, '', 3),
    line('PATCH', 200, '', 4),
    line('APPLY', 200, '', 5),
    line('DELETE', 200, '', 6),
    line('POST', 201, 'All', 100),
    line('PATCH', 409, '', 100),
    line('GET', 200, '', 100),
    line('WATCH', 200, '', 100),
  ];
  expect(countWrites(metrics.join('\n'))).toBe(18);
});
