import { expect, inject, test } from 'vitest';
import { startNodeCluster } from './node-cluster.ts';

test.skipIf(inject('nodes').whyNot)('pods of a node run, and find each other by name', async () => {
  await using cluster = await startNodeCluster(1);
  const serve = 'echo hello > /tmp/index.html; exec busybox httpd -f -p 8080 -h /tmp';
  await cluster.kubectl('create', 'deployment', 'web', '--image=busybox:1.35', '--', 'sh', '-c', serve);
  await cluster.kubectl('expose', 'deployment', 'web', '--port=80', '--target-port=8080');
  await cluster.kubectl('rollout', 'status', 'deployment/web', '--timeout=120s');
  const ask = ['run', 'ask', '--image=busybox:1.35', '--restart=Never', '--rm', '--attach', '--quiet', '--'];
  expect(await cluster.kubectl(...ask, 'wget', '-qO-', 'http://web.default.svc.cluster.local/')).toBe(
    'hello\n',
  );
});
