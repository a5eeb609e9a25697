import { expect, test } from 'vitest';
import { type AgentState, encodeAgentState, type KeyStore } from '../keys/key-store.ts';
import { newAgentState } from '../keys/own-keys.ts';

export function anAgentState(more: Partial<AgentState> = {}): AgentState {
  return { ...newAgentState({ clusterId: 'cluster-1', hubId: 'hub-1' }), ...more };
}

interface StoreUnderTest {
  /** Each one a new run of the agent. */
  open(): KeyStore;
  /** Changes what is stored behind the store's back. */
  damage(change: (encoded: string) => string): Promise<void>;
}

/** What every key store does; `prepare` gives each test an empty place. */
export function keyStoreConformance(prepare: () => StoreUnderTest): void {
  test('an agent that never ran has no state', async () => {
    expect(await prepare().open().load()).toBeUndefined();
  });

  test('the next run finds what was kept last', async () => {
    const place = prepare();
    const store = place.open();
    await store.load();
    await store.save(anAgentState());
    const last = anAgentState({
      replyKey: 'U1',
      member: { jwt: 'j', renewAtMs: 1, heartbeatIntervalMs: 2, clusterName: 'n', namespace: 's' },
    });
    await store.save(last);
    expect(await place.open().load()).toEqual(last);
  });

  test('of two that begin over an empty place one has it, and the other is told', async () => {
    const place = prepare();
    const [one, other] = [place.open(), place.open()];
    expect(await one.load()).toBeUndefined();
    expect(await other.load()).toBeUndefined();
    const kept = anAgentState();
    await one.save(kept);
    const refused = async () => other.save(anAgentState());
    await refused().catch(() => undefined);
    await expect(refused()).rejects.toMatchObject({ code: 'AGENT_STATE_OTHER' });
    expect(await place.open().load()).toEqual(kept);
    await one.save({ ...kept, replyKey: 'U1' });
  });

  test('what was taken out is gone', async () => {
    const place = prepare();
    const store = place.open();
    await store.save(anAgentState({ waitingJwt: 'j' }));
    const last = anAgentState({ waitingJwt: undefined });
    await store.save(last);
    expect(await place.open().load()).not.toHaveProperty('waitingJwt');
  });

  test.each([
    { name: 'torn', change: (text: string) => text.slice(0, text.length / 2) },
    { name: 'empty', change: () => '' },
    { name: 'edited', change: (text: string) => text.replace('cluster-1', 'cluster-2') },
    {
      name: 'of a later version',
      change: () => encodeAgentState({ ...anAgentState(), version: 2 } as unknown as AgentState),
    },
  ])('a state that is $name is refused, and shows nothing of itself', async ({ change }) => {
    const place = prepare();
    const state = anAgentState();
    await place.open().save(state);
    await place.damage(change);
    const error = await place
      .open()
      .load()
      .then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
    expect(error).toMatchObject({ code: 'AGENT_STATE_INVALID' });
    expect(String(error)).not.toContain(state.seed);
  });
}
