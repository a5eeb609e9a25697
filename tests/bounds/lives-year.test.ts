import {
  clusterRecord,
  cut,
  deprovisioned,
  draft,
  keyAggregate,
  keyRecord,
  nameRecord,
  provisioned,
  tokenDeclared,
  tokenRecord,
} from '@rollcall/shared/events';
import { createNkey, type Nkey, signMessage, tokenIdOf } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { decideLeaveRequested } from '../../services/approver/decision/decide-leave.ts';
import {
  decideNameRelease,
  decideRevocation,
} from '../../services/approver/decision/events-after-decision.ts';
import { decideRequest } from '../../services/approver/requests/decide-request.ts';
import { decideLiveness } from '../../services/heartbeat/members/decide-liveness.ts';
import { judgeJoin } from '../../services/registrar/join/judge-join.ts';
import { admissionStep } from '../../services/registrar/members/follow-decisions.ts';
import { leftStep } from '../../services/registrar/members/end-leaving.ts';
import { judgeLeave } from '../../services/registrar/members/request-to-leave.ts';
import { accessEvents } from '../../services/rbac-provisioner/access/access-event.ts';
import { asAttempt } from '../../services/registrar/tests/token-holders.ts';
import { aDeclaration } from '../harness/events.ts';
import { clusterId, Stream } from './year-stream.ts';

const [dayMs, minuteMs] = [86_400_000, 60_000];
const heartbeat = { intervalSeconds: 15, graceSeconds: 45 };
const clusterName = 'one';
const tokenKey = createNkey('user').publicKey;
const token = { kind: 'token', id: tokenIdOf(tokenKey) } as const;
const name = { kind: 'name', id: clusterName } as const;
const why = { reason: 'Test', message: 'a test' };

/** What a policy says that lets in whoever has the token. */
const letsIn = {
  kind: 'evaluated',
  failures: [],
  matches: [
    { policy: 'anybody', generation: 1, rule: { name: 'all', when: 'true', effect: 'Approve' as const } },
  ],
} as const;

/** One registration of the cluster, as its agent and the services live it. @returns whether the hub let it in */
function live(stream: Stream, key: Nkey, startMs: number): boolean {
  let nowMs = startMs;
  const agentKey = key.publicKey;
  const ask = asAttempt({
    id: `ask-${startMs}`,
    agentKey,
    tokenProven: true,
    body: {
      clusterId,
      clusterName,
      clusterType: 'Standard',
      mode: 'Pull',
      tokenKey,
      labels: {},
      facts: { kubernetesVersion: 'v1.36.3' },
    },
  });
  const context = {
    cluster: stream.read(),
    token: tokenRecord(stream.of(token)),
    name: nameRecord(stream.of(name)),
    key: keyRecord(stream.of(keyAggregate(agentKey))),
    reservedNames: [],
    maxUsesPerTokenPerDay: 10_000,
    maxBytesPerTokenPerDay: 33_554_432,
    bytesLeft: Number.MAX_SAFE_INTEGER,
    refusalsLeft: 0,
    nowMs,
  };
  if (judgeJoin(ask, context).refusal) return false;
  stream.append(judgeJoin(ask, context).drafts, nowMs);
  expect(
    stream.append(decideRequest({ record: stream.read(), outcome: letsIn, heartbeat, nowMs }), nowMs),
  ).toBe(1);
  expect(stream.read().decision?.verdict).toBe('approved');
  stream.append(decideRevocation(stream.read()), nowMs);
  stream.append(admissionStep({ record: stream.read(), nowMs }), nowMs);
  const requestId = stream.read().decision?.requestId;
  const about = { namespace: clusterName, requestId } as const;
  const made = {
    ...about,
    step: 'provision',
    failure: undefined,
    isWithdrawn: false,
    isMadeAgain: false,
    uids: undefined,
  } as const;
  stream.append(accessEvents({ record: stream.read(), nowMs, result: made }), nowMs);
  const finding = {
    from: 'neverSeen',
    state: 'ready',
    cause: 'Alive',
    lastHeartbeatAtMs: nowMs,
    nowMs,
    flap: { losses: 4, windowMs: 600_000 },
  } as const;
  expect(stream.append(decideLiveness(stream.read(), finding), nowMs)).toBe(1);

  nowMs += minuteMs;
  const proof = signMessage({ verb: 'leave', body: { clusterId } }, [key]);
  const leaves = (done: boolean) =>
    stream.append(judgeLeave({ agentKey, done, proof }, { record: stream.read(), nowMs }), nowMs);
  expect(leaves(false)).toBe(1);
  expect(
    stream.append(
      decideLeaveRequested({ record: stream.read(), heartbeat, nowMs, leaveWaitMs: minuteMs }),
      nowMs,
    ),
  ).toBe(1);
  stream.append(decideRevocation(stream.read()), nowMs);
  stream.append([draft(cut, stream.read(), { ...why, section: { key: agentKey, atMs: nowMs } })], nowMs);
  expect(leaves(true)).toBe(1);
  stream.append(
    accessEvents({ record: stream.read(), nowMs, result: { ...about, step: 'deprovision' } }),
    nowMs,
  );
  nowMs += minuteMs;
  expect(stream.append(leftStep({ record: stream.read(), nowMs }), nowMs)).toBe(1);
  const released = decideNameRelease({
    name: nameRecord(stream.of(name)),
    cluster: clusterRecord(stream.read()),
  });
  expect(stream.append(released, nowMs)).toBe(1);
  stream.forget(keyAggregate(agentKey));
  return true;
}

test('a member that leaves and comes back as often as it may for a year: what is stored, and that it can still be decided about', () => {
  let nowMs = Date.UTC(2026, 10, 21);
  const stream = new Stream();
  const section = aDeclaration({ publicKey: tokenKey, uses: 'unlimited' });
  stream.append([draft(tokenDeclared, tokenRecord(stream.of(token)), { ...why, section })], nowMs);
  let lives = 0;
  // Forty tries a day.
  for (const endMs = nowMs + 365 * dayMs; nowMs < endMs; nowMs += dayMs / 40)
    if (live(stream, createNkey('user'), nowMs)) lives++;
  expect(lives).toBeGreaterThan(23 * 365);
  expect(lives).toBeLessThanOrEqual(24 * 366);
  expect(stream.counts.get(provisioned.type)).toBe(lives);
  expect(stream.counts.get(deprovisioned.type)).toBe(lives);
  // docs/scale.md says so.
  expect(stream.bytes).toBeLessThan(0.8e9);
  expect(stream.largest).toBeLessThan(262_144 / 4);
});
