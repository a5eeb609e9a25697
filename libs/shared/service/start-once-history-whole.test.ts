import { RollcallError } from '@rollcall/shared/errors';
import { expect, test } from 'vitest';
import { beginOnceWhole } from './start-once-history-whole.ts';

/** Lost for the first few times that somebody asks. */
function aHistory(lostFor: number) {
  let asked = 0;
  return { lost: () => (asked++ < lostFor ? 'it ends early' : undefined) };
}

function world() {
  const ending = new AbortController();
  const failures: string[] = [];
  const on = { stopped: ending.signal, failed: ({ code }: RollcallError) => void failures.push(code) };
  return { ending, failures, on };
}

test('it begins when the history is whole again', async () => {
  const { failures, on } = world();
  const begun: string[] = [];
  await beginOnceWhole(aHistory(2), async () => void begun.push('begun'), on);
  expect({ begun, failures }).toEqual({ begun: ['begun'], failures: [] });
});

test('what cannot begin then has failed: nobody would begin it another time', async () => {
  const { failures, on } = world();
  const begin = () => Promise.reject(new RollcallError('KUBE_UNREACHABLE', 'it is away'));
  await beginOnceWhole(aHistory(1), begin, on);
  expect(failures).toEqual(['KUBE_UNREACHABLE']);
});

test('who is stopped meanwhile has not failed', async () => {
  const { ending, failures, on } = world();
  const waiting = beginOnceWhole(aHistory(Number.POSITIVE_INFINITY), async () => undefined, on);
  ending.abort(new Error('stopping'));
  await waiting;
  const beginning = Promise.withResolvers<void>();
  const second = world();
  const late = beginOnceWhole(aHistory(0), () => beginning.promise, second.on);
  second.ending.abort(new Error('stopping'));
  beginning.reject(new Error('the connection is closed'));
  await late;
  expect([...failures, ...second.failures]).toEqual([]);
});
