import { expect, test } from 'vitest';
import type { Action } from '../../../rows/index.ts';
import type { ActionTarget } from '../cluster/chosen-action.ts';
import { type Decided, decideMany, lineOfMany } from './decide-many.ts';

const target = (id: string, key = 'one'): ActionTarget => ({ id, name: `site-${id}`, key });
const refusal = { code: 'ACCEPT_FORBIDDEN', message: 'bob may not', hint: '' };

test('each is decided by its id with the one reason; what is not as it was seen is left out', async () => {
  const sent: Action[] = [];
  const told: Decided[] = [];
  const now = new Map([
    ['a', target('a')],
    ['b', target('b', 'two')],
    ['d', target('d')],
  ]);
  await decideMany(
    { verb: 'approve', targets: ['a', 'b', 'c', 'd'].map((id) => target(id)), reason: 'of today' },
    (id) => now.get(id),
    {
      tell: (decided) => told.push(decided),
      send: async (action) => {
        sent.push(action);
        return action.target === 'a'
          ? { isDone: true, value: { words: 'is let in' } }
          : { isDone: false, refusal };
      },
    },
  );
  expect(sent).toEqual(
    ['a', 'd'].map((id) => ({ verb: 'approve', target: id, isId: true, key: 'one', reason: 'of today' })),
  );
  expect(told.map(({ target: { id }, isDone, words }) => [id, isDone, words])).toEqual([
    ['a', true, 'is let in'],
    ['b', false, 'left out: site-b asks with another key now'],
    ['c', false, 'left out: the request of site-c is gone'],
    ['d', false, 'bob may not (ACCEPT_FORBIDDEN)'],
  ]);
});

test('the line that does the same', () => {
  const many = { verb: 'deny', targets: [target('a'), target('b')], reason: 'not ours' } as const;
  expect(lineOfMany(many)).toBe("rollcall deny --id a b --reason 'not ours'");
});
