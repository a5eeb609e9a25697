import { draft, tokenRecord, tokenWithdrawn } from '@rollcall/shared/events';
import { createNkey, tokenIdOf } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { connectWithToken } from '../harness/raw-agent.ts';
import { aJoin, askToJoin } from '../harness/join.ts';
import { type AttackedRegistrar, outcomeOf, startAttackedRegistrar } from './attacked-registrar.ts';

/** Two replicas: of what one of them knows, the other hears by the stream alone. */
let world: AttackedRegistrar;
beforeAll(async () => {
  world = await startAttackedRegistrar({ replicas: 2 });
});
afterAll(() => world[Symbol.asyncDispose]());

/** Rounds of a race: as many as asked for, but no more than a slow machine does in half a minute. */
async function rounds(count: number, race: () => Promise<void>): Promise<number> {
  const deadlineMs = performance.now() + 30_000;
  let done = 0;
  for (; done < count && performance.now() < deadlineMs; done++) await race();
  return done;
}

test('two agents redeem one single-use token at once, hundreds of times: one gets in, each time', async () => {
  const done = await rounds(250, async () => {
    const token = await world.declare();
    const agents = await Promise.all([
      connectWithToken(world.hub, token),
      connectWithToken(world.hub, token),
    ]);
    const { result, events } = await world.eventsDuring(() =>
      Promise.all(agents.map((agent) => askToJoin(agent, token, aJoin(token)))),
    );
    await Promise.all(agents.map(({ nc }) => nc.close()));
    expect(result.map(outcomeOf).toSorted()).toEqual(['TOKEN_USED_UP', 'waiting']);
    expect(events.filter((event) => event !== 'cluster.refused').toSorted()).toEqual([
      'cluster.requested',
      'key.taken',
      'name.taken',
      'token.used',
    ]);
    expect(await world.uses(token)).toBe(1);
  });
  expect(done).toBeGreaterThan(25);
});

test('of forty agents with a token for seven, seven get in', async () => {
  const token = await world.declare({ uses: 7 });
  const agents = await Promise.all(Array.from({ length: 40 }, () => world.agent(token)));
  const results = await Promise.all(agents.map((agent) => askToJoin(agent, token, aJoin(token))));
  const outcomes = results.map(outcomeOf);
  expect(outcomes.filter((outcome) => outcome === 'waiting')).toHaveLength(7);
  expect(new Set(outcomes)).toEqual(new Set(['waiting', 'TOKEN_USED_UP']));
  expect(await world.uses(token)).toBe(7);
});

/** As many as one replica has open of one agent: a ninth that came to the same one would be told that the hub is busy. */
test('a key that asks eight times at once, over two connections, spends one use', async () => {
  const token = await world.declare({ uses: 5 });
  const key = createNkey('user');
  const both = await Promise.all([
    connectWithToken(world.hub, token, { key }),
    connectWithToken(world.hub, token, { key }),
  ]);
  onTestFinished(() => Promise.all(both.map(({ nc }) => nc.close())).then(() => undefined));
  const body = aJoin(token);
  const { result, events } = await world.eventsDuring(() =>
    Promise.all(Array.from({ length: 4 }, () => both.map((agent) => askToJoin(agent, token, body))).flat()),
  );
  expect(new Set(result.map(outcomeOf))).toEqual(new Set(['waiting']));
  expect(events.toSorted()).toEqual(['cluster.requested', 'key.taken', 'name.taken', 'token.used']);
  expect(await world.uses(token)).toBe(1);
});

test('of two clusters that want one name at once one gets it, and the other has spent nothing', async () => {
  await rounds(25, async () => {
    const tokens = await Promise.all([world.declare(), world.declare()]);
    const clusterName = `shop-${createNkey('user').publicKey.slice(-12).toLowerCase()}`;
    const outcomes = await Promise.all(
      tokens.map(async (token) => {
        await using agent = await connectWithToken(world.hub, token);
        return outcomeOf(await askToJoin(agent, token, aJoin(token, { clusterName })));
      }),
    );
    expect(outcomes.toSorted()).toEqual(['NAME_TAKEN', 'waiting']);
    const spent = await Promise.all(tokens.map((token) => world.uses(token)));
    expect(spent).toEqual(outcomes.map((outcome) => (outcome === 'waiting' ? 1 : 0)));
  });
});

test('one cluster asked for with two tokens by one key at once is one request, and spends one of them', async () => {
  const tokens = await Promise.all([world.declare(), world.declare()]);
  const key = createNkey('user');
  const body = aJoin(tokens[0] ?? { key });
  const outcomes = await Promise.all(
    tokens.map(async (token) => {
      await using agent = await connectWithToken(world.hub, token, { key });
      return outcomeOf(await askToJoin(agent, token, { ...body, tokenKey: token.key.publicKey }));
    }),
  );
  expect(outcomes).toEqual(['waiting', 'waiting']);
  const spent = await Promise.all(tokens.map((token) => world.uses(token)));
  expect(spent.toSorted()).toEqual([0, 1]);
});

test('one key that asks for two clusters at once, of two replicas, is let in for one, and spends one token', async () => {
  await rounds(25, async () => {
    const tokens = await Promise.all([world.declare(), world.declare()]);
    const key = createNkey('user');
    const bodies = tokens.map((token) => aJoin(token));
    const outcomes = await Promise.all(
      tokens.map(async (token, index) => {
        await using agent = await connectWithToken(world.hub, token, { key });
        return outcomeOf(await askToJoin(agent, token, bodies[index] ?? aJoin(token)));
      }),
    );
    expect(outcomes.toSorted()).toEqual(['KEY_TAKEN', 'waiting']);
    const spent = await Promise.all(tokens.map((token) => world.uses(token)));
    expect(spent).toEqual(outcomes.map((outcome) => (outcome === 'waiting' ? 1 : 0)));
    const identities = await Promise.all(
      bodies.map(async ({ clusterId }) => (await world.cluster(clusterId)).identity),
    );
    expect(identities.filter((identity) => identity !== undefined)).toHaveLength(1);
  });
});

test('a token that is withdrawn while a request is under way lets in before it, or nobody', async () => {
  const seen = new Set<string>();
  let round = 0;
  async function withdraw(id: string): Promise<void> {
    // Another moment in each round: the request and its answer take about as many round trips.
    for (let trips = round++ % 12; trips > 0; trips--) await world.ops.flush();
    for (;;) {
      const record = tokenRecord(await world.approverLog.read({ kind: 'token', id }));
      if (!record.declaration) throw new Error('not declared');
      const section = { ...record.declaration, withdrawn: true };
      const event = draft(tokenWithdrawn, record, { reason: 'Deleted', message: 'deleted', section });
      const isWritten = await world.approverLog.append([event], { correlation: 'test' }).then(
        () => true,
        () => false,
      );
      if (isWritten) return;
    }
  }
  await rounds(100, async () => {
    const token = await world.declare();
    const id = tokenIdOf(token.key.publicKey);
    await using agent = await connectWithToken(world.hub, token);
    const body = aJoin(token);
    const [result] = await Promise.all([askToJoin(agent, token, body), withdraw(id)]);
    const { lastOf } = await world.opsLog.read({ kind: 'token', id });
    const usedAt = lastOf.registrar?.sequence;
    const isBefore = usedAt !== undefined && usedAt < (lastOf.approver?.sequence ?? 0);
    const { head } = await world.cluster(body.clusterId);
    seen.add(`${outcomeOf(result)}, used before: ${isBefore}, asked: ${head !== undefined}`);
  });
  // Both ends of the race were run, or it showed nothing.
  expect([...seen].toSorted()).toEqual([
    'TOKEN_UNKNOWN, used before: false, asked: false',
    'waiting, used before: true, asked: true',
  ]);
});
