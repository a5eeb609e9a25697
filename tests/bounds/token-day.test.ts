import { randomBytes } from 'node:crypto';
import {
  approved,
  clusterRecord,
  decodeEvent,
  draft,
  encodeEvent,
  type EventDraft,
  left,
  tokenDeclared,
} from '@rollcall/shared/events';
import { createNkey, signMessage, tokenIdOf } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { decideLeaveRequested } from '../../services/approver/decision/decide-leave.ts';
import { decideRevocation } from '../../services/approver/decision/events-after-decision.ts';
import { configSchema } from '../../services/registrar/config.ts';
import { judgeJoin } from '../../services/registrar/join/judge-join.ts';
import { asAttempt } from '../../services/registrar/tests/token-holders.ts';
import { admissionStep } from '../../services/registrar/members/follow-decisions.ts';
import { judgeLeave } from '../../services/registrar/members/request-to-leave.ts';
import { MemoryLog } from '../../services/registrar/tests/memory-log.ts';
import { aDecision, aDeclaration } from '../harness/events.ts';

/** What a stolen token has stored in a day, where a policy lets clusters in at once and they ask for all that there is room for. */
const nowMs = 1_700_000_000_000;
const { maxBytesPerTokenPerDay, maxUsesPerTokenPerDay } = configSchema.shape;
const budget = {
  bytes: maxBytesPerTokenPerDay.parse(undefined),
  uses: maxUsesPerTokenPerDay.parse(undefined),
};
const token = createNkey('user').publicKey;
const tokenId = tokenIdOf(token);

/** 16 KiB in JSON, all of which the token lets it have. */
const prefix = `${'a.'.repeat(64)}b`;
const labels = Object.fromEntries(
  Array.from({ length: 64 }, (_, at) => [`${prefix}/${`k${at}`.padEnd(60, 'k')}`, 'v'.repeat(55)]),
);
const keys = Array.from({ length: 8 }, (_, at) => ({
  kid: `${at}`.padEnd(128, 'k'),
  kty: 'RSA' as const,
  n: randomBytes(1000).toString('base64url'),
  e: 'AQAB',
}));
const shown = { issuer: `https://${'i'.repeat(240)}`, subject: 'system:serviceaccount:a:b', keys };

class Costs extends MemoryLog {
  bytes = 0;

  add(drafts: readonly EventDraft[]): void {
    const stamp = { epoch: 1, source: '/rollcall/registrar', nowMs, correlation: 'ask-00000001' };
    for (const one of drafts) {
      const { subject, headers, body } = encodeEvent(one, stamp);
      // It fits its own schema.
      decodeEvent({ subject, sequence: 1, data: body, header: (name) => headers[name] ?? '' });
      this.bytes += subject.length + JSON.stringify(headers).length + body.length;
    }
    if (!this.append(drafts)) throw new Error('it was not kept');
  }
}

/** One use, as large as it gets; `bytes` are those that the budget counts. */
function comeAndLeave(): { counted: number; came: number; left: number } {
  const log = new Costs();
  const declared = aDeclaration({ publicKey: token, uses: 'unlimited', allowLabels: ['*'] });
  const what = { reason: 'Declared', message: 'm' };
  log.append([
    draft(tokenDeclared, log.read({ kind: 'token', id: tokenId }), { ...what, section: declared }),
  ]);
  const agent = createNkey('user');
  const agentKey = agent.publicKey;
  const facts = { kubernetesVersion: 'v1.36.3', apiServerURL: '\u0001'.repeat(256) };
  const about = { clusterId: 'id-1', clusterName: 'n-1' };
  const body = {
    ...about,
    clusterType: 'Standard' as const,
    mode: 'Pull' as const,
    tokenKey: token,
    labels,
    facts,
  };
  const context = log.joinContext({ ...about, tokenId, agentKey, nowMs });
  const ask = asAttempt({ id: 'ask-00000001', agentKey, tokenProven: true, body });
  const verdict = judgeJoin(ask, { ...context, member: { sameMember: false, shown } });
  expect(verdict.refusal).toBeUndefined();
  log.add(verdict.drafts);
  const waiting = log.cluster('id-1');
  const { id: requestId, labels: given } = waiting.identity?.request ?? { id: '', labels: {} };
  const section = aDecision({ requestId, key: agentKey, approvedKey: agentKey, labels: given });
  log.add([draft(approved, waiting, { reason: 'PolicyApproved', message: 'm', section })]);
  log.add(admissionStep({ record: log.cluster('id-1'), nowMs }));
  const came = log.bytes;
  const proofOf = (done: boolean) =>
    signMessage({ verb: 'leave', body: { clusterId: 'id-1', done } }, [agent]);
  const leave = (done: boolean) =>
    judgeLeave({ agentKey, done, proof: proofOf(done) }, { record: log.cluster('id-1'), nowMs });
  log.add(leave(false));
  const heartbeat = { intervalSeconds: 15, graceSeconds: 45 };
  log.add(decideLeaveRequested({ record: log.cluster('id-1'), heartbeat, nowMs, leaveWaitMs: 1000 }));
  log.add(decideRevocation(clusterRecord(log.read({ kind: 'cluster', id: 'id-1' }))));
  log.add(leave(true));
  const { identity } = log.cluster('id-1');
  if (!identity) throw new Error('there is no such cluster');
  const gone = { ...identity, state: 'left' as const };
  log.add([draft(left, log.cluster('id-1'), { reason: 'Left', message: 'm', section: gone })]);
  return { counted: verdict.bytes ?? 0, came, left: log.bytes };
}

test('a stolen token has no more stored in a day than docs/scale.md says', () => {
  const use = comeAndLeave();
  const uses = Math.min(budget.uses, Math.floor(budget.bytes / use.counted));
  expect(use.counted).toBeLessThan(64 * 1024);
  expect(uses * use.came).toBeLessThan(90e6);
  expect(uses * use.left).toBeLessThan(220e6);
});

test('what our own agents say leaves all uses of a day', () => {
  expect(budget.bytes / budget.uses).toBeGreaterThan(3 * 1024);
});
