import {
  approved,
  draft,
  eventCatalogue,
  type EventDefinition,
  type EventDraft,
  keyAggregate,
  keyRecord,
  requested,
  tokenDeclared,
} from '@rollcall/shared/events';
import { createNkey, type Nkey, signMessage, tokenIdOf } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { judgeJoin } from '../services/registrar/join/judge-join.ts';
import { asAttempt } from '../services/registrar/tests/token-holders.ts';
import { refuseForRoom } from '../services/registrar/limits/refuse-when-full.ts';
import { admissionStep } from '../services/registrar/members/follow-decisions.ts';
import { judgeRotation } from '../services/registrar/members/key-rotation.ts';
import { judgeLeave } from '../services/registrar/members/request-to-leave.ts';
import { decidePin } from '../services/registrar/members/issuer-pin.ts';
import { MemoryLog } from '../services/registrar/tests/memory-log.ts';
import { aDecision, aDeclaration, anIdentity } from '../tests/harness/events.ts';
import { eventCauses } from './generate/event-causes.ts';
import { largestEvent } from './generate/generate-event-causes.ts';
import { largestSection } from './generate/largest-sections.ts';

/** `max_msg_size` of stream EVENTS. */
const largestMessage = 262_144;
const names = eventCatalogue.map(({ kind, type }) => `${kind}.${type}`);

test('of every type of event it is said who can cause it and how often, and of none that there is not', () => {
  expect(Object.keys(eventCauses).toSorted()).toEqual([...new Set(names)].toSorted());
});

test.each(
  eventCatalogue.map((definition) => ({ name: `${definition.kind}.${definition.type}`, definition })),
)('$name at its worst fits into a message, and into its schema', ({ definition }) => {
  expect(definition.section.safeParse(JSON.parse(JSON.stringify(largestSection(definition)))).success).toBe(
    true,
  );
  expect(largestEvent(definition)).toBeLessThan(largestMessage);
});

test('what holders of tokens cause alone ends when the place is nearly full', () => {
  const theirs = Object.entries(eventCauses).filter(([, { by }]) => by.includes('token'));
  expect(theirs.filter(([, { stopsWhenFull }]) => !stopsWhenFull)).toEqual([]);
});

const nowMs = 1_700_000_000_000;
const [agent, next, stranger, token] = Array.from({ length: 4 }, () => createNkey('user')) as [
  Nkey,
  Nkey,
  Nkey,
  Nkey,
];
const full = refuseForRoom(
  { usedShare: 0.85, open: 0, openWithToken: 0 },
  { maxOpenRequests: 1, maxOpenRequestsPerToken: 1 },
);

/** Everything that the registrar writes because an agent asks, by the code that writes it. */
function writtenWhen(isPlaceFull: boolean): Set<string> {
  const written = new Set<string>();
  const note = (drafts: readonly EventDraft[]) => {
    for (const { definition } of drafts) written.add(`${definition.kind}.${definition.type}`);
  };
  const log = new MemoryLog();
  const say = (
    definition: EventDefinition,
    id: { kind: EventDraft['aggregate']['kind']; id: string },
    section: object,
  ) => log.append([draft(definition, log.read(id), { reason: 'R', message: 'm', section } as never)]);
  const declare = (key: string, more = {}) =>
    say(
      tokenDeclared,
      { kind: 'token', id: tokenIdOf(key) },
      aDeclaration({ publicKey: key, uses: 'unlimited', ...more }),
    );
  declare(token.publicKey);
  declare(stranger.publicKey, { expiresAtMs: 1 });
  function ask(
    clusterId: string,
    { tokenKey = token.publicKey, key = agent.publicKey, facts = {}, atMs = nowMs } = {},
  ) {
    const about = {
      clusterId,
      clusterName: clusterId,
      tokenId: tokenIdOf(tokenKey),
      agentKey: key,
      nowMs: atMs,
    };
    const body = {
      clusterId,
      clusterName: clusterId,
      clusterType: 'Standard' as const,
      mode: 'Pull' as const,
      tokenKey,
      labels: {},
      facts,
    };
    const refuseNew = isPlaceFull ? full : undefined;
    return judgeJoin(asAttempt({ id: `ask-${clusterId}`, agentKey: key, tokenProven: true, body }), {
      ...log.joinContext(about),
      refuseNew,
    }).drafts;
  }
  note(ask('new', { key: next.publicKey }));
  note(ask('refused', { key: stranger.publicKey, tokenKey: stranger.publicKey }));
  const request = { ...anIdentity().request, key: agent.publicKey };
  say(
    requested,
    { kind: 'cluster', id: 'one' },
    anIdentity({ clusterId: 'one', clusterName: 'one', request }),
  );
  note(ask('one', { facts: { platform: 'other' }, atMs: nowMs + 86_400_000 }));
  const decision = aDecision({
    verdict: 'approved',
    key: agent.publicKey,
    approvedKey: agent.publicKey,
    requestId: request.id,
  });
  say(approved, { kind: 'cluster', id: 'one' }, decision);
  note(admissionStep({ record: log.cluster('one'), nowMs }));
  log.append(admissionStep({ record: log.cluster('one'), nowMs }));
  const record = log.cluster('one');
  const shown = {
    issuer: 'https://m',
    subject: 'system:serviceaccount:a:b',
    keys: [{ kid: 'k', kty: 'EC' as const }],
  };
  note(decidePin({ record, nowMs, isFull: isPlaceFull }, { agentKey: agent.publicKey, shown }));
  const rotate = signMessage({ verb: 'rotate', body: { clusterId: 'one', newKey: next.publicKey } }, [
    agent,
    next,
  ]);
  const rotation = {
    id: 'r',
    agentKey: agent.publicKey,
    newKey: next.publicKey,
    signedAtMs: nowMs,
    proof: rotate,
  };
  const newKey = keyRecord(log.read(keyAggregate(next.publicKey)));
  const rotated = judgeRotation(rotation, { record, newKey, nowMs, isFull: isPlaceFull });
  expect(rotated.drafts.length > 0).toBe(!isPlaceFull);
  note(rotated.drafts);
  const leave = signMessage({ verb: 'leave', body: { clusterId: 'one', done: false } }, [agent]);
  note(judgeLeave({ agentKey: agent.publicKey, done: false, proof: leave }, { record, nowMs }));
  return written;
}

test('what stops when the place is nearly full is what the code stops that asks for it', () => {
  const goesOn = writtenWhen(true);
  const stops = [...writtenWhen(false)].filter((name) => !goesOn.has(name));
  expect(stops.toSorted()).toEqual(
    Object.keys(eventCauses)
      .filter((name) => eventCauses[name]?.stopsWhenFull)
      .toSorted(),
  );
  expect([...goesOn].toSorted()).toEqual(['cluster.admitted', 'cluster.leave-requested']);
});
