import { expect, test } from 'vitest';
import { actOnEach } from './act-on-several.ts';

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
