import { expect, test } from 'vitest';
import { actOnEach, heldAmong } from './act-on-several.ts';
import type { StoredRequest } from './find-request.ts';

test.each(['', ' '])('the empty selector "%s" selects nobody, and not everybody', async (selector) => {
  const found: string[] = [];
  const what = {
    find: async () => [{ word: 'blue', isId: false, shown: '"blue"' }],
    verb: 'Remove',
    async act({ word }: { word: string }) {
      found.push(word);
      return { words: 'removed' };
    },
  };
  await expect(actOnEach([], { selector, yes: true, output: 'text' }, what)).rejects.toMatchObject({
    code: 'USAGE',
  });
  expect(found).toEqual([]);
});

test('of the requests that wait, each is decided with the key that asked when the person saw the list', () => {
  const request = (id: string, result: string): StoredRequest => ({
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ClusterRegistrationRequest',
    metadata: { name: id, uid: id, resourceVersion: '1' },
    spec: { clusterId: id, clusterName: `name-of-${id}`, keyFingerprint: `key-of-${id}` },
    status: { result },
  });
  const targets = heldAmong([request('c-1', 'Held'), request('c-2', 'Approved')]);
  expect(targets).toMatchObject([{ word: 'c-1', isId: true, seenKey: 'key-of-c-1' }]);
});
