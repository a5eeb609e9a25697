import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '@rollcall/shared/config';
import { type Answer, answerSubject, encodeAnswer } from '@rollcall/shared/protocol';
import { nkeyFromSeed, spkiPin } from '@rollcall/shared/trust';
import { expect } from 'vitest';
import { configSchema, start } from '../../services/registrar/main.ts';
import { decideAs, declareToken } from '../../tests/harness/events.ts';
import { startTestHub } from '../../tests/harness/test-hub.ts';
import { directoryKeyStore } from '../main.ts';
import { startAgent } from './agent-under-test.ts';

/** What one answer says, beside what every one has. */
type Said = Partial<Pick<Answer, 'hubCas' | 'hubAddresses' | 'result'>>;

/** A hub whose registrar works, while a thief has all that it has: its user, and the key that signs answers. */
export async function startStolenHub() {
  const hub = await startTestHub();
  const values = hub.serviceSettings('registrar');
  const registrar = await start(loadConfig(configSchema, { flags: {}, environment: {}, values }));
  const log = await hub.openLog('approver');
  const thief = await hub.connectAs('registrar');
  const trust = { pins: [spkiPin(hub.address.caPem)] };

  async function aMember(clientId: string) {
    const { text: token } = await declareToken(log, hub.hub.hubId);
    const one = await startAgent(hub, { token, clientId, trust });
    await one.heard.next(({ phase }) => phase === 'waiting');
    await decideAs(log, clientId, 'approved');
    await one.agent.admitted();
    await one.heard.next(({ phase }) => phase === 'ready');
    const store = directoryKeyStore(one.directory);
    const kept = async () => (await store.load()) ?? Promise.reject(new Error('it has kept nothing'));

    /** Resolves when the agent has heard it: it beats at the pace that the next answer says. */
    async function hears({ result, ...more }: Said, verb = 'join'): Promise<void> {
      const { seed, member } = await kept();
      const to = nkeyFromSeed(seed).publicKey;
      const identity = readFileSync(join(hub.stateDir, 'identities', 'registrar.json'), 'utf8');
      const { answerKeySeed } = JSON.parse(identity) as { answerKeySeed: string };
      const say = (on: string, what: Answer['result']) => {
        const about = { v: 1, hub: hub.hub.hubId, to, inReplyTo: 'nothing', atMs: Date.now() } as const;
        thief.publish(
          answerSubject(to, on),
          encodeAnswer({ ...about, ...more, result: what }, nkeyFromSeed(answerKeySeed)),
        );
      };
      if (result) say(verb, result);
      const beatIntervalMs = (member?.beatIntervalMs ?? 0) + 1000;
      say('pace', { kind: 'done', beatIntervalMs });
      await expect.poll(async () => (await kept()).member?.beatIntervalMs).toBe(beatIntervalMs);
    }

    return { ...one, kept, hears };
  }

  return {
    hub,
    log,
    aMember,
    async [Symbol.asyncDispose]() {
      await registrar.stop();
      await hub[Symbol.asyncDispose]();
    },
  };
}
export type StolenHub = Awaited<ReturnType<typeof startStolenHub>>;
