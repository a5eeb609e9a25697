import { existsSync } from 'node:fs';
import { draft, nameTaken, tokenDeclared, type TokenDeclaration } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { startTestHub } from './test-hub.ts';

const declaration: TokenDeclaration = {
  publicKey: 'U',
  namespace: 'n',
  name: 'n',
  uid: 'u',
  declaredAtMs: 1,
  uses: 1,
  labels: {},
  allowLabels: [],
  withdrawn: false,
};
const aToken = (id: string) =>
  draft(
    tokenDeclared,
    { aggregate: { kind: 'token', id }, head: undefined },
    { reason: 'Declared', message: 'm', section: declaration },
  );

test('the first writer of an aggregate wins, and a batch is stored whole or not at all', async () => {
  await using hub = await startTestHub();
  const log = await hub.openLog('approver');
  await log.append([aToken('a'), aToken('b')], { correlation: 'c' });
  await expect(log.append([aToken('d'), aToken('b')], { correlation: 'c' })).rejects.toMatchObject({
    code: 'APPEND_CONFLICT',
  });
  expect((await log.read({ kind: 'token', id: 'd' })).head).toBeUndefined();
  const b = await log.read({ kind: 'token', id: 'b' });
  await log.append([{ ...aToken('b'), head: b.head }], { correlation: 'c' });
  const again = await log.read({ kind: 'token', id: 'b' });
  expect(again.newest?.previous).toEqual({ sequence: b.head?.sequence, digest: b.head?.digest });
});

test('an acknowledged event survives kill -9 of the server', async () => {
  await using hub = await startTestHub();
  const log = await hub.openLog('approver');
  await log.append([aToken('a')], { correlation: 'c' });
  await hub.natsServer.kill();
  await hub.natsServer.restart();
  const later = await hub.openLog('approver');
  expect((await later.read({ kind: 'token', id: 'a' })).head?.sequence).toBe(1);
});

test('a service cannot write the events of another', async () => {
  await using hub = await startTestHub();
  const log = await hub.openLog('approver');
  const stolen = draft(
    nameTaken,
    { aggregate: { kind: 'name', id: 'x' }, head: undefined },
    {
      reason: 'Taken',
      message: 'm',
      section: { name: 'x', clusterId: 'x', free: false },
    },
  );
  await expect(log.append([stolen], { correlation: 'c' })).rejects.toThrow(/ermissions/);
  expect((await log.read({ kind: 'name', id: 'x' })).head).toBeUndefined();
});

test('a hub that could not be started leaves nothing behind', async () => {
  let stateDir = '';
  const failing = startTestHub({
    async beforeStart(path) {
      stateDir = path;
      throw new Error('no place for it');
    },
  });
  await expect(failing).rejects.toThrow('no place for it');
  expect(existsSync(stateDir)).toBe(false);
});
