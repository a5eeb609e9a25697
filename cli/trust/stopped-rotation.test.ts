import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AgentSigners } from '@rollcall/shared/rights';
import { createNkey, nkeyFromSeed } from '@rollcall/shared/trust';
import { expect, onTestFinished, test } from 'vitest';
import { hubKeys } from '../install/hub/hub-keys.ts';
import { hubValuesSchema } from '../install/hub/hub-values.ts';
import { accountControllerKeys } from '../up/state/account-controller-keys.ts';
import { type HubFiles, openHubFiles } from './hub-files.ts';
import { rotate } from './rotate.ts';
import { rotateReplyKey } from './rotate-reply-key.ts';
import { dropSigningKeys } from './rotate-signing-keys.ts';
import { rotationStep } from './rotation-step.ts';

function newHub(): HubFiles {
  const stateDir = mkdtempSync(join(tmpdir(), 'rollcall-rotation-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const { nats } = hubValuesSchema.parse({});
  hubKeys(stateDir, { hosts: ['hub.example.org'], nats, withWebSocket: false });
  return openHubFiles(stateDir);
}

/** As of a process that is killed before it writes once more, and whose services are told nothing. */
function killedAfter(files: HubFiles, writes: number): HubFiles {
  let left = writes;
  return {
    ...files,
    change(name, how) {
      if (--left < 0) throw new Error('killed');
      return files.change(name, how);
    },
    publish: () => Promise.reject(new Error('not told')),
  };
}

test.each([0, 1, 2])(
  'signing keys that are dropped, stopped after %i writes: status shows what may be good, and the same command finishes it',
  async (writes) => {
    const files = newHub();
    const roles = Object.keys(files.read('hub').keys.agentSigners);
    // The cast is sound: it has the roles of another one.
    const former = Object.fromEntries(
      roles.map((role) => [role, createNkey('account').publicKey]),
    ) as unknown as AgentSigners;
    files.change('hub', (hub) => ({
      ...hub,
      keys: { ...hub.keys, moreAgentSigners: [former] },
      rotations: { 'signing-keys': { stage: 'switched', atMs: 0 } },
    }));
    const { keys } = files.read('hub');
    files.change('account-controller', (identity) => ({ ...identity, ...accountControllerKeys(keys) }));
    for (let again = 0; again < 2; again++)
      await expect(dropSigningKeys(killedAfter(files, writes))).rejects.toThrow(/killed|not told/);
    const { rotations, keys: after } = files.read('hub');
    expect(after.moreAgentSigners).toEqual([former]);
    expect(rotationStep('signing-keys', rotations?.['signing-keys']).kind).toBe('drop');
    const { hubKeys: told, formerAgentSigners: noted = [] } = files.read('account-controller');
    expect([told.moreAgentSigners, noted]).toEqual(writes === 0 ? [[former], []] : [undefined, [former]]);
  },
);

test.each([0, 1, 2])('a reply key that is replaced, stopped after %i writes, is replaced once', (writes) => {
  const files = newHub();
  const { replyKey: before } = files.read('hub');
  expect(() => rotateReplyKey(killedAfter(files, writes), Date.now())).toThrow('killed');
  expect(files.read('hub').replyKey).toBe(before);
  rotateReplyKey(files, Date.now());
  const { replyKeySeed, replyChain } = files.read('registrar');
  const { publicKey } = nkeyFromSeed(replyKeySeed);
  expect(replyChain).toHaveLength(1);
  expect(files.read('hub').replyKey).toBe(publicKey);
  expect(files.read('account-controller').knownBy?.replyKey).toBe(publicKey);
});

test('while one rotates on this machine another one is refused, or it would replace what the first has announced', async () => {
  const { stateDir } = newHub();
  writeFileSync(join(stateDir, 'ports.json'), JSON.stringify({ nats: 1 }));
  const script = `
    import { lockState } from ${JSON.stringify(new URL('../up/state/state-lock.ts', import.meta.url))};
    lockState(${JSON.stringify(stateDir)}, 'rotate.lock');
    console.log('rotating');
    setInterval(() => undefined, 1000);
  `;
  const other = spawn(process.execPath, ['--input-type=module', '--eval', script]);
  onTestFinished(() => void other.kill());
  await once(other.stdout, 'data');
  await expect(rotate('reply-key', {}, stateDir)).rejects.toMatchObject({ code: 'STATE_IN_USE' });
});
