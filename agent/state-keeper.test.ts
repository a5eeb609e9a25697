import { expect, test } from 'vitest';
import type { AgentState } from './key-store.ts';
import { createLogLines } from './log-lines.ts';
import { newAgentState } from './own-keys.ts';
import { createStateKeeper } from './state-keeper.ts';

function aKeeper() {
  const saved: AgentState[] = [];
  const store = {
    place: 'memory',
    load: async () => undefined,
    save: async (state: AgentState) => void saved.push(state),
  };
  const keeper = createStateKeeper(store, {
    state: newAgentState({ clusterId: 'cluster-1', hubId: 'hub-1' }),
    isKept: true,
    logger: createLogLines('error', () => undefined),
    signal: new AbortController().signal,
  });
  return { keeper, saved };
}

test('what changes in one turn is one write', async () => {
  const { keeper, saved } = aKeeper();
  keeper.update((old) => ({ ...old, answerKey: 'A' }));
  keeper.update((old) => ({ ...old, waitingJwt: 'J' }));
  await keeper.kept();
  expect(saved).toEqual([expect.objectContaining({ answerKey: 'A', waitingJwt: 'J' })]);
});

test('what changes while a write is under way is kept as well', async () => {
  const { keeper, saved } = aKeeper();
  keeper.update((old) => ({ ...old, answerKey: 'A' }));
  const first = keeper.kept();
  await new Promise(setImmediate);
  keeper.update((old) => ({ ...old, answerKey: 'B' }));
  await first;
  await keeper.kept();
  expect(saved.at(-1)).toMatchObject({ answerKey: 'B' });
});

test('what is kept already is not written', async () => {
  const { keeper, saved } = aKeeper();
  await keeper.kept();
  expect(saved).toEqual([]);
});
