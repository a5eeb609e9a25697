import { headers } from '@nats-io/transport-node';
import type { LastWord } from '@rollcall/shared/bus';
import { draft, type Liveness, nameTaken, ready } from '@rollcall/shared/events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decideAs } from '../harness/events.ts';
import { type BusAttack, expectRefused, forgedEvent, onJetStream, type Stage, startStage } from './stage.ts';

/** docs/security/identities.md: what a stolen heartbeat service can do, and what it cannot. */
let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

const attacks: readonly BusAttack[] = [
  { name: 'approve a cluster', publish: forgedEvent('approved', { verdict: 'approved' }) },
  { name: 'revoke one', publish: forgedEvent('revoked', { verdict: 'revoked' }) },
  { name: 'admit a key', publish: forgedEvent('admitted', { admittedKey: 'U' }) },
  {
    name: 'say that a key was cut',
    publish: forgedEvent('cut', { key: 'U' }),
  },
  {
    name: 'declare a token of its own',
    publish: () => ({ subject: 'rollcall.events.token.mine.declared', body: '{}' }),
  },
  {
    name: 'answer an agent as the registrar',
    publish: ({ victim }) => ({ subject: `rollcall.reply.${victim.agent.key.publicKey}.join`, body: '{}' }),
  },
  {
    name: 'change the facts of a cluster',
    publish: ({ victim }) => ({ subject: `rollcall.facts.${victim.clusterId}`, body: '{}' }),
  },
  {
    name: 'send heartbeats for a cluster',
    publish: ({ victim }) => ({ subject: `rollcall.heartbeat.${victim.clusterId}`, body: '1' }),
  },
  ...onJetStream('purge the stream', 'STREAM.PURGE.EVENTS'),
  ...onJetStream('delete the stream', 'STREAM.DELETE.EVENTS'),
  ...onJetStream('delete one event', 'STREAM.MSG.DELETE.EVENTS', { body: '{"seq":1}' }),
  ...onJetStream('have events pushed to itself by a consumer of its own', 'CONSUMER.CREATE.EVENTS.mine', {
    body: '{"stream_name":"EVENTS","config":{"deliver_subject":"_INBOX_heartbeat.x"}}',
  }),
  ...onJetStream('delete the approver’s consumer', 'CONSUMER.DELETE.EVENTS.approver'),
  ...onJetStream('take the approver’s events away from it', 'CONSUMER.MSG.NEXT.EVENTS.approver', {
    body: '{"batch":100}',
    reply: '_INBOX_heartbeat.x',
  }),
  { name: 'read the registrar’s inbox', subscribe: '_INBOX_registrar.>' },
  { name: 'read everybody’s inboxes', subscribe: '_INBOX.>' },
  { name: 'hear what agents ask', subscribe: 'rollcall.request.*.*' },
  { name: 'hear everything', subscribe: '>' },
  {
    name: 'end the connection of an agent',
    publish: () => ({ subject: '$SYS.REQ.SERVER.x.KICK', body: '{"cid":1}' }),
  },
  {
    name: 'push claims of an account',
    publish: () => ({ subject: '$SYS.REQ.CLAIMS.UPDATE', body: 'x' }),
  },
];

describe('with the heartbeat’s identity nobody can', () => {
  test.each(attacks)('$name', async (attack) => {
    await using thief = await stage.steal('heartbeat');
    await expectRefused(stage, thief, attack);
  });
});

async function aLiveness(): Promise<Liveness> {
  const { identity } = await stage.victimRecord();
  const atMs = Date.now();
  return {
    state: 'ready',
    key: identity?.admittedKey ?? '',
    cause: 'Alive',
    joinedAtMs: atMs,
    sinceMs: atMs,
    lastHeartbeatAtMs: atMs,
  };
}

/** Writes on a subject that is its own, with whatever headers and body; the stream's own answer. */
async function writeOwn(more: { type?: string; headers?: Record<string, string>; body: object }) {
  const nc = await stage.hub.connectAs('heartbeat');
  const all = headers();
  all.set('ce-id', `forged-${Math.random()}`);
  all.set('ce-type', more.type ?? 'dev.rollcall.cluster.ready.v1');
  all.set('ce-time', new Date().toISOString());
  for (const [name, value] of Object.entries(more.headers ?? {})) all.set(name, value);
  const subject = `rollcall.events.cluster.${stage.victim.clusterId}.${ready.type}`;
  const answer = await nc.request(subject, JSON.stringify(more.body), { headers: all, timeout: 5000 });
  return answer.json<{ error?: { code: number; description: string }; seq?: number }>();
}

const bodyOf = (section: unknown, epoch = stage.hub.hub.epoch) => ({
  epoch,
  correlation: 'forged',
  reason: 'Forged',
  message: 'forged',
  section,
});

describe('on the subjects that are its own', () => {
  test('an event that says in a header that it is an approval is none', async () => {
    const section = { ...(await stage.victimRecord()).decision, clusterName: 'stolen' };
    await writeOwn({ type: 'dev.rollcall.cluster.approved.v1', body: bodyOf(section) });
    const { decision, newest } = await stage.victimRecord();
    expect(decision?.clusterName).toBe('victim');
    expect(newest?.reason).not.toBe('Forged');
  });

  test('an event of a later epoch does not overrule what comes after', async () => {
    await writeOwn({ body: bodyOf(await aLiveness(), 1_000_000) });
    const { head, liveness } = await stage.victimRecord();
    expect(head?.epoch).toBe(stage.hub.hub.epoch);
    expect(liveness).toBeUndefined();
    const { decidedAtMs } = await decideAs(stage.approverLog, stage.victim.clusterId, 'approved');
    const { decision, newest } = await stage.victimRecord();
    expect(decision?.decidedAtMs).toBe(decidedAtMs);
    expect(newest?.type).toBe('approved');
  });

  test('an event of a version that nobody knows does not hold what others decide', async () => {
    await writeOwn({ type: 'dev.rollcall.cluster.ready.v9', body: bodyOf(await aLiveness()) });
    const { decidedAtMs } = await decideAs(stage.approverLog, stage.victim.clusterId, 'approved');
    expect((await stage.victimRecord()).decision?.decidedAtMs).toBe(decidedAtMs);
  });

  test('an event that says in a header where it stands does not stand there, whoever reads it', async () => {
    const { clusterId } = stage.victim;
    const { decision } = await stage.victimRecord();
    const written = await writeOwn({
      type: 'dev.rollcall.cluster.approved.v1',
      headers: {
        'Nats-Subject': `rollcall.events.cluster.${clusterId}.approved`,
        'Nats-Sequence': '1000000',
      },
      body: bodyOf({ ...decision, clusterName: 'stolen' }),
    });
    const after = await stage.victimRecord();
    expect(after.decision?.clusterName).toBe('victim');
    expect(after.head?.sequence).toBe(written.seq);
    const approvals: LastWord['section'][] = [];
    const query = { kind: 'cluster', writers: ['approver', 'heartbeat'], having: 'approved' } as const;
    await stage.approverLog.lastWords(query, ({ id, type, section }) => {
      if (id === clusterId && type === 'approved') approvals.push(section);
    });
    expect(approvals).toEqual([expect.objectContaining({ clusterName: 'victim' })]);
  });

  test('an event with a foreign digest changes no other section, and the next one stands on what is there', async () => {
    const { decision, identity } = await stage.victimRecord();
    const previous = { sequence: 1, digest: 'sha256:foreign' };
    await writeOwn({ body: { ...bodyOf(await aLiveness()), previous } });
    const after = await stage.victimRecord();
    expect([after.decision, after.identity]).toEqual([decision, identity]);
    expect(after.newest?.previous).toEqual(previous);
    await decideAs(stage.approverLog, stage.victim.clusterId, 'approved');
    expect((await stage.victimRecord()).newest?.previous).toEqual({
      sequence: after.head?.sequence,
      digest: after.head?.digest,
    });
  });

  test.each([
    { name: 'empty the stream', header: { 'Nats-Rollup': 'all' } },
    { name: 'empty its subject', header: { 'Nats-Rollup': 'sub' } },
    { name: 'have it forgotten', header: { 'Nats-TTL': '1s' } },
    { name: 'count in it', header: { 'Nats-Incr': '1' } },
    {
      name: 'have it sent elsewhere later',
      header: { 'Nats-Schedule': '@every 1s', 'Nats-Schedule-Target': 'rollcall.events.x' },
    },
  ])('no header can $name', async ({ header }) => {
    const before = await stage.state();
    const answer = await writeOwn({ headers: header, body: bodyOf(await aLiveness()) });
    expect(answer.error?.description).toBeDefined();
    expect(await stage.state()).toEqual(before);
  });

  /** It hears what others append, and so where they wait for the acknowledgement. */
  test('it cannot acknowledge an append of the approver in the place of the stream', async () => {
    const nc = await stage.hub.connectAs('heartbeat');
    const overheard = nc.subscribe('rollcall.stored.cluster.*.approved', { max: 1 });
    await nc.flush();
    await decideAs(stage.approverLog, stage.victim.clusterId, 'approved');
    // What it hears was stored already, and does not say where that is waited for.
    for await (const message of overheard) expect(message.reply ?? '').toBe('');
    const forged = '_INBOX_approver.forged';
    nc.publish(forged, '{"stream":"EVENTS","seq":999999}');
    await expect.poll(stage.serverLog).toContain(`Publish Violation - Subject "${forged}"`);
  });

  /** What it can: whoever thinks that this is refused, is told here that it is not. */
  test('batches that it begins and never ends keep batches of others waiting, and no decision', async () => {
    const nc = await stage.hub.connectAs('heartbeat');
    const body = JSON.stringify(bodyOf(await aLiveness()));
    const subject = `rollcall.events.cluster.${stage.victim.clusterId}.${ready.type}`;
    for (let begun = 0; begun < 50; begun++) {
      const all = headers();
      all.set('Nats-Batch-Id', `never-${begun}`);
      all.set('Nats-Batch-Sequence', '1');
      nc.publish(subject, body, { headers: all });
    }
    await nc.flush();
    const registrar = await stage.hub.openLog('registrar');
    const nameOf = (name: string) =>
      draft(
        nameTaken,
        { aggregate: { kind: 'name', id: name }, head: undefined },
        { reason: 'NameTaken', message: 'm', section: { name, clusterId: 'c', free: false } },
      );
    const drafts = [nameOf('one'), nameOf('two')];
    await expect(registrar.append(drafts, { correlation: 'c' })).rejects.toThrow('the bus took no batch');
    const { decidedAtMs } = await decideAs(stage.approverLog, stage.victim.clusterId, 'approved');
    expect((await stage.victimRecord()).decision?.decidedAtMs).toBe(decidedAtMs);
  });
});
