import { createNkey, type Nkey } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';
import { freshId } from '../harness/raw-agent.ts';
import { admitMember, recordOn } from './member-of-whole-hub.ts';

let hub: TestEmbeddedHub;
beforeAll(async () => {
  hub = await startTestEmbeddedHub();
});
afterAll(() => hub[Symbol.asyncDispose]());

const record = (id: string) => recordOn(hub, id);

test.each<{
  name: string;
  want: string;
  how(own: Nkey, next: Nkey): { signers: Nkey[]; newKey?: string; clusterId?: string; more?: object };
}>([
  { name: 'signed by the old key only', want: 'PROOF_INVALID', how: (own) => ({ signers: [own] }) },
  {
    name: 'to the key of another cluster',
    want: 'PROOF_INVALID',
    how: (own, next) => ({ signers: [own, next], newKey: createNkey('user').publicKey }),
  },
  {
    name: 'of a cluster that is not its own',
    want: 'TOKEN_UNKNOWN',
    how: (own, next) => ({ signers: [own, next], clusterId: 'another' }),
  },
  {
    name: 'signed an hour ago',
    want: 'CLOCK_SKEW',
    how: (own, next) => ({ signers: [own, next], more: { atMs: Date.now() - 3_600_000 } }),
  },
  {
    name: 'made for another hub',
    want: 'HUB_WRONG',
    how: (own, next) => ({ signers: [own, next], more: { hub: 'another' } }),
  },
])('a rotation $name is refused, and nothing changes', async ({ want, how }) => {
  const { clusterId, agent: connected } = await admitMember(hub);
  await using agent = connected;
  const next = createNkey('user');
  const { signers, newKey = next.publicKey, clusterId: about = clusterId, more } = how(agent.key, next);
  const { result } = await agent.request('rotate', { clusterId: about, newKey }, { signers, ...more });
  expect(result).toMatchObject({ kind: 'refused', code: want });
  const { decision, identity } = await record(clusterId);
  expect(decision?.approvedKey).toBe(agent.key.publicKey);
  expect(identity?.request.key).toBe(agent.key.publicKey);
});

test('a rotation that was heard is good for nobody else, and the former key cannot rotate once more', async () => {
  const { clusterId, agent: connected } = await admitMember(hub);
  await using agent = connected;
  const next = createNkey('user');
  const id = freshId();
  await agent.request('rotate', { clusterId, newKey: next.publicKey }, { id, signers: [agent.key, next] });
  await until(
    'the new key is in',
    async () => (await record(clusterId)).identity?.admittedKey === next.publicKey,
  );
  const third = createNkey('user');
  const body = { clusterId, newKey: third.publicKey };
  const { result } = await agent.request('rotate', body, { signers: [agent.key, third] });
  expect(result).toMatchObject({ kind: 'refused', code: 'TOKEN_UNKNOWN' });
  await using thief = (await admitMember(hub)).agent;
  const replayed = await thief.request(
    'rotate',
    { clusterId, newKey: next.publicKey },
    { id, signers: [thief.key] },
  );
  expect(replayed.result).toMatchObject({ kind: 'refused', code: 'TOKEN_UNKNOWN' });
  expect((await record(clusterId)).decision?.approvedKey).toBe(next.publicKey);
});
