import { decodeRequest, encodeReply } from '@rollcall/shared/protocol';
import type { Reply, ReplyResult } from '@rollcall/shared/protocol/reply';
import { createNkey, hubIdOf } from '@rollcall/shared/trust/keys';
import { expect, test } from 'vitest';
import { createHubPermission } from '../tunnel/hub-permission.ts';
import { clockFact } from './measure-clock-skew.ts';
import type { HubLink } from './hub-connection.ts';
import { createReplyHandler } from './reply-handler.ts';
import { createSending } from './requester.ts';
import { aSession } from '../tests/a-session.ts';

const hourMs = 3_600_000;

/** An agent of a hub whose clock shows what the test wants. */
function anAgent() {
  const replyKey = createNkey('account');
  const hubId = hubIdOf(replyKey.publicKey);
  const { session, keys } = aSession({ hubId });
  const sending = createSending(session);
  const permission = createHubPermission({
    ask: () => undefined,
    onShut: () => undefined,
    answersWithinMs: 1,
  });
  const hear = createReplyHandler(session, {
    sending,
    factsReport: { confirmed: () => undefined },
    hubAccess: undefined,
    toldPlaces: { learn: () => undefined },
    changeInterval: () => undefined,
    peopleMayEnter: permission.learn,
    rotation: () => undefined,
    rotationRequested: () => undefined,
  });
  const key = keys.current();
  const sent: Parameters<HubLink['publish']>[] = [];
  const publish: HubLink['publish'] = (...message) => void sent.push(message);
  const link = { key, publish } as HubLink;
  return {
    permission,
    sent,
    tellFacts() {
      const facts = clockFact(sending.clockAheadMs());
      return sending.send(link, { verb: 'facts', body: { clusterId: 'c', facts } });
    },
    hubSays(verb: 'facts' | 'interval', inReplyTo: string, atMs: unknown, memberAccess?: 'Denied') {
      const result: ReplyResult = { kind: 'done', ...(memberAccess && { memberAccess }) };
      const said = { v: 1, hub: hubId, to: key.publicKey, inReplyTo, atMs, result };
      const subject = `rollcall.reply.${key.publicKey}.${verb}`;
      hear({ data: encodeReply(said as Reply, replyKey), subject, key });
    },
  };
}

test('whose hub has set its clock back, its people get in again when it says so to a request of since', async () => {
  const { permission, tellFacts, hubSays } = anAgent();
  hubSays('facts', tellFacts(), hourMs, 'Denied');
  expect(await permission.refusal()).toMatchObject({ refused: 'off' });
  hubSays('facts', tellFacts(), 1000);
  expect(await permission.refusal()).toBeUndefined();
});

test('an answer that was overtaken by the news that the cluster is shut opens nothing, however often it is heard', async () => {
  const { permission, tellFacts, hubSays } = anAgent();
  const requestId = tellFacts();
  hubSays('interval', 'news', hourMs, 'Denied');
  hubSays('facts', requestId, hourMs - 1);
  hubSays('facts', requestId, hourMs - 1);
  expect(await permission.refusal()).toMatchObject({ refused: 'off' });
});

test('an answer that comes again after newer news opens nothing', async () => {
  const { permission, tellFacts, hubSays } = anAgent();
  const requestId = tellFacts();
  hubSays('facts', requestId, hourMs);
  hubSays('interval', 'news', hourMs + 1, 'Denied');
  hubSays('facts', requestId, hourMs);
  expect(await permission.refusal()).toMatchObject({ refused: 'off' });
});

test.each([undefined, null, '1', 1.5, -1, 4e14, 1e300])(
  'an answer of the time %j leaves the agent with words that its hub can read',
  (atMs) => {
    const { tellFacts, hubSays, sent } = anAgent();
    hubSays('facts', tellFacts(), atMs);
    tellFacts();
    const [subject, data] = sent.at(-1) ?? [];
    expect(decodeRequest(subject ?? '', data ?? Buffer.alloc(0)).request.verb).toBe('facts');
  },
);
