import { expect, test } from 'vitest';
import type { KubeClient } from './kube-client.ts';
import { createResourceFinder } from './resource-finder.ts';

test('what answers about its kinds and is no API server is said to be none, without its words', async () => {
  const raw = async () => ({ status: 200, body: '<html>words of a proxy</html>' });
  const resourceOf = createResourceFinder({ raw } as unknown as KubeClient, undefined);
  const error = await resourceOf({ apiVersion: 'apps/v1', kind: 'DaemonSet' }).catch(
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ code: 'KUBE_UNREACHABLE' });
  expect(String(error)).not.toContain('words');
});
