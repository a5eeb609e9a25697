import { RollcallError } from '@rollcall/shared/errors';
import { expect, test } from 'vitest';
import { batchOrEach } from './batch-or-each.ts';

async function written(
  batch: readonly string[],
  refuse: (some: readonly string[]) => RollcallError | undefined,
) {
  const writes: string[] = [];
  const failures: string[] = [];
  await batchOrEach(
    batch,
    async (some) => {
      const error = refuse(some);
      if (error) throw error;
      writes.push(some.join('+'));
    },
    (some, { code }) => void failures.push(`${some.join('+')} ${code}`),
  );
  return { writes, failures };
}

test('what can be written together is', async () => {
  expect(await written(['a', 'b'], () => undefined)).toEqual({ writes: ['a+b'], failures: [] });
});

test('one that cannot be written keeps nobody else from it', async () => {
  const unknown = new RollcallError('EVENT_VERSION_UNKNOWN', 'newer');
  const outcome = await written(['a', 'b', 'c'], (some) => (some.includes('b') ? unknown : undefined));
  expect(outcome).toEqual({ writes: ['a', 'c'], failures: ['b EVENT_VERSION_UNKNOWN'] });
});

test.each(['BUS_UNREACHABLE', 'APPEND_CONFLICT'] as const)('%s is not tried one by one', async (code) => {
  const outcome = await written(['a', 'b'], () => new RollcallError(code, 'away'));
  expect(outcome).toEqual({ writes: [], failures: [`a+b ${code}`] });
});
