import { RollcallError } from '@rollcall/shared/errors';
import type { Logger } from '@rollcall/shared/service';
import { expect, test } from 'vitest';
import { againInMs, remove } from './uninstall-steps.ts';

const away = new RollcallError('KUBE_UNREACHABLE', 'the API server is not ready yet');
const refused = new RollcallError('MEMBER_FORBIDDEN', 'it may not');

test.each([
  { name: 'soon at first', failures: 1, triedMs: 0, want: 1000 },
  { name: 'later after more failures', failures: 3, triedMs: 5000, want: 4000 },
  { name: 'exactly at the end of its time', failures: 3, triedMs: 116_000, want: 4000 },
  { name: 'not after it', failures: 3, triedMs: 116_001, want: undefined },
  { name: 'not where the hub waits for the goodbye', step: 'beforeGoodbye' as const, triedMs: 19_001 },
  { name: 'not where it is refused', error: refused },
])(
  'a step is tried again $name',
  ({ error = away, step = 'afterGoodbye' as const, failures = 1, triedMs = 0, want }) => {
    expect(againInMs(error, { step, failures, triedMs, random: 1 })).toBe(want);
  },
);

/** Removes what fails once, and tells how often it was tried and what was said last. */
async function removing(error: RollcallError, signal = new AbortController().signal) {
  const said: string[] = [];
  const logger = {
    warn: (_fields, message) => said.push(message),
    error: ({ object }, message) => said.push(`${message}: ${object}`),
  } as Partial<Logger> as Logger;
  let tries = 0;
  const step = async () => {
    if (++tries === 1) throw error;
  };
  await remove({ what: 'Namespace a', beforeGoodbye: step, afterGoodbye: step }, 'afterGoodbye', {
    logger,
    signal,
  });
  return { tries, last: said.at(-1) };
}

const givesUp = 'not everything could be removed; delete what is left of it: Namespace a';

test('what fails because its API server starts is done later; what is refused, or when the agent has to end, is named', async () => {
  expect(await removing(away)).toEqual({ tries: 2, last: 'it could not be removed yet' });
  expect(await removing(refused)).toEqual({ tries: 1, last: givesUp });
  expect(await removing(away, AbortSignal.abort())).toEqual({ tries: 1, last: givesUp });
});
