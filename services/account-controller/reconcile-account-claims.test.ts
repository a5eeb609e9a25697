import { expect, test } from 'vitest';
import type { StoredEvent } from '@rollcall/shared/events';
import { agentsAccountClaims } from '@rollcall/shared/rights';
import { decodeJwt, encodeJwt } from '@rollcall/shared/trust';
import { hubSecrets } from '../../tests/simulation/nats-account.ts';
import { createClaimsController } from './reconcile-account-claims.ts';
import { createRevokedKeysReader, type ToldKeys } from './read-revoked-keys.ts';
import type { Revocations } from './revocation-list.ts';

const longestLifeMs = 3_600_000;
const { keys, operator } = hubSecrets();

/** A server that keeps the newer of two claims, and the clock of this machine. */
function aServer() {
  let nowMs = 1_000_000;
  const jwtOf = (revocations: Revocations) =>
    encodeJwt(
      { subject: keys.agents, name: 'AGENTS', nowMs, nats: agentsAccountClaims(keys, revocations) },
      operator,
    );
  let stored = jwtOf({});
  const iatOf = (jwt: string) => decodeJwt(jwt)?.iat ?? 0;
  const revocations = () => (decodeJwt(stored)?.nats['revocations'] ?? {}) as Revocations;
  return {
    jwtOf,
    revocations,
    nowMs: () => nowMs,
    pass: (ms: number) => (nowMs += ms),
    lookUp: async () => stored,
    async push(jwt: string) {
      if (iatOf(jwt) >= iatOf(stored)) stored = jwt;
    },
    applied: async () => [{ revocations: revocations(), jwt: stored }],
  };
}

test('who was stopped while it read the stream does not push over the list of another', async () => {
  const server = aServer();
  const taken = { key: 'UA', atMs: 1_000_500 };
  const reads: PromiseWithResolvers<ToldKeys>[] = [];
  const keepClaims = createClaimsController({
    system: server,
    known: () => ({
      keys,
      agentsAccount: agentsAccountClaims(keys, {}),
      formerAgentSigners: [],
      signer: operator,
    }),
    longestLifeMs,
    nowMs: server.nowMs,
    readRevokedKeys: () => {
      const read = Promise.withResolvers<ToldKeys>();
      reads.push(read);
      return read.promise;
    },
  });
  // Its time has come, so that there is something to push.
  await server.push(server.jwtOf({ UGONE: 1 }));
  const kept = keepClaims();
  await expect.poll(() => reads.length).toBe(1);
  server.pass(60_000);
  await server.push(server.jwtOf({ UA: 4600 }));
  reads[0]?.resolve({ takenBack: [], givenBack: new Map() });
  await expect.poll(() => reads.length).toBe(2);
  expect(server.revocations()).toEqual({ UA: 4600 });
  reads[1]?.resolve({ takenBack: [{ revokedKeys: [taken] }], givenBack: new Map() });
  expect(await kept).toEqual({ UA: 4600 });
});

test('a key that leaves the list by its age has not every approval of the history read', async () => {
  const server = aServer();
  const takenAtMs = server.nowMs() + 500;
  const reads: string[] = [];
  const log = {
    async *scan({ filter = '>', fromSequence = 1 }: { filter?: string; fromSequence?: number }) {
      reads.push(`${filter} from ${fromSequence}`);
      const [type, sequence] = ['revoked', 7];
      const event = { kind: 'cluster', id: 'c1', type, epoch: 1, sequence, timeMs: takenAtMs };
      const section = { revokedKeys: [{ key: 'UA', atMs: takenAtMs }] };
      if (filter.endsWith(type) && fromSequence <= sequence)
        yield { ...event, section } as unknown as StoredEvent;
    },
  };
  const revokedKeys = createRevokedKeysReader(log, {
    longestLifeMs,
    nowMs: server.nowMs,
    skipped: () => undefined,
  });
  const keepClaims = createClaimsController({
    system: server,
    known: () => ({
      keys,
      agentsAccount: agentsAccountClaims(keys, {}),
      formerAgentSigners: [],
      signer: operator,
    }),
    longestLifeMs,
    nowMs: server.nowMs,
    readRevokedKeys: revokedKeys.read,
  });
  expect(await keepClaims()).toEqual({ UA: 4600 });
  reads.length = 0;
  server.pass(longestLifeMs + 1000);
  expect(await keepClaims()).toEqual({});
  expect(reads).not.toContain('cluster.*.approved from 1');
});

test('a server that does not say by which claims it acts gets them once more', async () => {
  const server = aServer();
  let pushes = 0;
  const keepClaims = createClaimsController({
    system: {
      ...server,
      async push(jwt) {
        pushes++;
        await server.push(jwt);
      },
      applied: async () => [{ revocations: {}, jwt: pushes === 0 ? '' : await server.lookUp() }],
    },
    known: () => ({
      keys,
      agentsAccount: agentsAccountClaims(keys, {}),
      formerAgentSigners: [],
      signer: operator,
    }),
    longestLifeMs,
    nowMs: server.nowMs,
    readRevokedKeys: async () => ({ takenBack: [], givenBack: new Map() }),
  });
  expect(await keepClaims()).toEqual({});
  expect(pushes).toBe(1);
});
