import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '@rollcall/shared/config';
import { type Reply, replySubject, encodeReply, type SignedLink } from '@rollcall/shared/protocol';
import { type Nkey, nkeyFromSeed, spkiPin } from '@rollcall/shared/trust';
import { expect } from 'vitest';
import { configSchema, start } from '../../services/registrar/main.ts';
import { until } from '../../tests/harness/embedded.ts';
import { decideAs, declareToken } from '../../tests/harness/events.ts';
import { startTestHub } from '../../tests/harness/test-hub.ts';
import { directoryKeyStore } from '../main.ts';
import { startAgent } from './agent-under-test.ts';

/** What one answer says, beside what every one has. */
type Said = Partial<Pick<Reply, 'hubCas' | 'hubAddresses' | 'result'>>;

/** A hub whose registrar works, while a thief has all that it has: its user, and the key that signs answers. */
export async function startStolenHub() {
  const hub = await startTestHub();
  const values = hub.serviceSettings('registrar');
  const registrar = await start(loadConfig(configSchema, { flags: {}, environment: {}, values }));
  const log = await hub.openLog('approver');
  const thief = await hub.connectAs('registrar');
  const trust = { pins: [spkiPin(hub.address.caPem)] };

  /** The key that signs answers, as the thief has it. */
  function replyKey(): Nkey {
    const identity = readFileSync(join(hub.stateDir, 'identities', 'registrar.json'), 'utf8');
    return nkeyFromSeed((JSON.parse(identity) as { replyKeySeed: string }).replyKeySeed);
  }

  async function aMember(clientId: string) {
    // Its server may have been started again just now.
    const { text: token } = await until('a token is declared', () => declareToken(log, hub.hub.hubId));
    const one = await startAgent(hub, { token, clientId, trust });
    await one.heard.next(({ phase }) => phase === 'waiting');
    await decideAs(log, clientId, 'approved');
    await one.agent.admitted();
    await one.heard.next(({ phase }) => phase === 'ready');
    const store = directoryKeyStore(one.directory);
    const kept = async () => (await store.load()) ?? Promise.reject(new Error('it has kept nothing'));
    // It says that it is ready before its disk has all that it was told.
    await expect.poll(async () => (await kept()).member).toBeDefined();

    async function say(on: string, said: Said, by = replyKey(), links: readonly SignedLink[] = []) {
      const to = nkeyFromSeed((await kept()).seed).publicKey;
      const about = { v: 1, hub: hub.hub.hubId, to, inReplyTo: 'nothing', atMs: Date.now() } as const;
      const result = said.result ?? { kind: 'done' };
      thief.publish(replySubject(to, on), encodeReply({ ...about, ...said, result }, by, links));
    }

    /** Resolves when the agent has heard it: it sends heartbeats at the interval that the next answer says. */
    async function hears({ result, ...more }: Said, verb = 'join'): Promise<void> {
      if (result) await say(verb, { ...more, result });
      const { member } = await kept();
      const heartbeatIntervalMs = (member?.heartbeatIntervalMs ?? 0) + 1000;
      // Again and again: who connects anew because of what it was told before hears nothing meanwhile.
      const said = async () => {
        await say('interval', { ...more, result: { kind: 'done', heartbeatIntervalMs } });
        return (await kept()).member?.heartbeatIntervalMs;
      };
      await expect.poll(said, { interval: 250 }).toBe(heartbeatIntervalMs);
    }

    /** An answer by another key, which the reply key of the hub names as its successor. */
    const isNamed = (successor: Nkey, link: SignedLink) => say('interval', {}, successor, [link]);

    return { ...one, kept, hears, isNamed };
  }

  return {
    hub,
    log,
    replyKey,
    aMember,
    async [Symbol.asyncDispose]() {
      await registrar.stop();
      await hub[Symbol.asyncDispose]();
    },
  };
}
export type StolenHub = Awaited<ReturnType<typeof startStolenHub>>;
