import { expect, test } from 'vitest';
import type { AgentState } from './key-store.ts';
import { createLogLines } from '../log-lines.ts';
import { newAgentState } from './own-keys.ts';
import { createStateStore } from './state-store.ts';

/** @param takes - what the store waits for before it has saved */
function aStateStore(takes?: Promise<void>) {
  const saved: AgentState[] = [];
  const store = {
    place: 'memory',
    load: async () => undefined,
    async save(state: AgentState) {
      saved.push(state);
      await takes;
    },
  };
  const stateStore = createStateStore(store, {
    state: newAgentState({ clusterId: 'cluster-1', hubId: 'hub-1' }),
    isKept: true,
    logger: createLogLines('error', () => undefined),
    signal: new AbortController().signal,
  });
  return { stateStore, saved };
}

test('what changes in one turn is one write', async () => {
  const { stateStore, saved } = aStateStore();
  stateStore.update((old) => ({ ...old, replyKey: 'A' }));
  stateStore.update((old) => ({ ...old, waitingJwt: 'J' }));
  await stateStore.kept();
  expect(saved).toEqual([expect.objectContaining({ replyKey: 'A', waitingJwt: 'J' })]);
});

test('what changes while a write is under way is kept as well', async () => {
  const { stateStore, saved } = aStateStore();
  stateStore.update((old) => ({ ...old, replyKey: 'A' }));
  const first = stateStore.kept();
  await new Promise(setImmediate);
  stateStore.update((old) => ({ ...old, replyKey: 'B' }));
  await first;
  await stateStore.kept();
  expect(saved.at(-1)).toMatchObject({ replyKey: 'B' });
});

test('what is kept already is not written', async () => {
  const { stateStore, saved } = aStateStore();
  await stateStore.kept();
  expect(saved).toEqual([]);
});

test.each([0, 1, 2, 3, 4, 5, 6, 7, 8])(
  'what changes %d turns after the store has saved is kept as well',
  async (turns) => {
    const gate = Promise.withResolvers<void>();
    const { stateStore, saved } = aStateStore(gate.promise);
    stateStore.update((old) => ({ ...old, replyKey: 'A' }));
    await new Promise(setImmediate);
    async function changeThen(): Promise<void> {
      await gate.promise;
      for (let turn = 0; turn < turns; turn++) await undefined;
      stateStore.update((old) => ({ ...old, replyKey: 'B' }));
      await stateStore.kept();
    }
    const changed = changeThen();
    gate.resolve();
    await changed;
    expect(saved.at(-1)).toMatchObject({ replyKey: 'B' });
  },
);
