import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Admitted } from '@rollcall/shared/protocol/reply';
import { createNkey, encodeJwt } from '@rollcall/shared/trust';
import { expect, onTestFinished, test } from 'vitest';
import { createCredentialAdoption } from './credential-adoption.ts';
import type { HubLink } from './hub-connection.ts';
import { aSession } from '../tests/a-session.ts';

const issuer = createNkey('account');

/** An agent that asks to join, and each connection that it has made with credentials. */
function anAgent() {
  const { session, keys } = aSession();
  const taken: HubLink[] = [];
  const link = {} as HubLink;
  const world = { isCut: false };
  const adoption = createCredentialAdoption(session, {
    connector: { dial: async () => link },
    async take(next) {
      if (world.isCut) throw new Error('closed connection');
      taken.push(next);
    },
  });
  const key = keys.current();
  const jwt = encodeJwt({ subject: key.publicKey, nowMs: Date.now(), nats: {} }, issuer);
  const admission: Omit<Admitted, 'kind'> = {
    clusterId: 'c',
    clusterName: 'c',
    namespace: 'n',
    credentials: jwt,
    expiresAtMs: Date.now() + 1000,
    renewAfterMs: 500,
    heartbeatIntervalMs: 15_000,
  };
  return { world, taken, admit: (more = {}) => adoption.admit({ ...admission, ...more }, Date.now(), key) };
}

test.each([
  { what: 'credentials that are none', more: { credentials: 5 }, isCut: false },
  { what: 'a connection that is gone at once', more: {}, isCut: true },
])('$what: the agent goes on, and adopts what comes next', async ({ more, isCut }) => {
  const unheard: unknown[] = [];
  const note = (reason: unknown) => void unheard.push(reason);
  process.on('unhandledRejection', note);
  onTestFinished(() => void process.off('unhandledRejection', note));
  const { world, taken, admit } = anAgent();
  world.isCut = isCut;
  admit(more);
  await nextTurn();
  await nextTurn();
  world.isCut = false;
  admit();
  await expect.poll(() => taken).toHaveLength(1);
  expect(unheard).toEqual([]);
});
