import fc from 'fast-check';
import { expect, test } from 'vitest';
import { errorCatalogue } from '@rollcall/shared/errors';
import { codeAsReason } from '@rollcall/shared/resources/condition-reason';
import { clusterRegistrationRequest, labels } from '@rollcall/shared/resources';
import {
  aDecision,
  aMember,
  anAccess,
  anIdentity,
  aRecord,
  type Sections,
} from '../tests/cluster-record.builder.ts';
import { desiredRequest, requestLabels } from './desired-request.ts';

function outcome(sections: Sections) {
  const wanted = desiredRequest(aRecord(sections));
  return wanted.presence === 'present' ? wanted.status : { result: wanted.presence, reason: undefined };
}

const identity = anIdentity();
const refusal = { code: 'NAME_TAKEN', message: 'the name "blue" belongs to another cluster' };

test.each([
  { name: 'nothing known', sections: {}, want: 'unmentioned undefined' },
  { name: 'asked', sections: { identity }, want: 'Pending Judging' },
  {
    name: 'refused by the registrar',
    sections: { identity: anIdentity({ state: 'refused', refusal }) },
    want: 'Failed NameTaken',
  },
  {
    name: 'refused with a code of a newer version',
    sections: { identity: anIdentity({ state: 'refused', refusal: { code: 'NEW_THING', message: 'x' } }) },
    want: 'Failed NewThing',
  },
  {
    name: 'held',
    sections: { identity, decision: aDecision({ verdict: 'held', reason: 'NoRuleMatched' }) },
    want: 'Held NoRuleMatched',
  },
  { name: 'approved', sections: { identity, decision: aDecision() }, want: 'Approved PolicyApproved' },
  {
    name: 'denied',
    sections: { identity, decision: aDecision({ verdict: 'denied', reason: 'NotWanted' }) },
    want: 'Denied NotWanted',
  },
  {
    name: 'revoked',
    sections: { identity, decision: aDecision({ verdict: 'revoked', reason: 'Revoked' }) },
    want: 'Denied Revoked',
  },
  {
    name: 'banned',
    sections: { identity, decision: aDecision({ verdict: 'banned', reason: 'Banned' }) },
    want: 'Denied Banned',
  },
  {
    name: 'leaving',
    sections: { identity, decision: aDecision({ verdict: 'leaving' }) },
    want: 'Approved Leaving',
  },
  { name: 'left', sections: { identity: anIdentity({ state: 'left' }) }, want: 'gone undefined' },
  {
    name: 'a decision about another request is none about this',
    sections: { identity, decision: aDecision({ requestId: 'request-0' }) },
    want: 'Pending Judging',
  },
  {
    name: 'the namespace is taken',
    sections: aMember({
      access: anAccess({
        state: 'failed',
        error: { code: 'NAMESPACE_TAKEN', message: 'namespace "blue" is there' },
      }),
    }),
    want: 'Failed NamespaceTaken',
  },
])('$name → $want', ({ sections, want }) => {
  const { result, reason } = outcome(sections);
  expect(`${result} ${reason}`).toBe(want);
});

const who = 'a person with verb create on managedclusters/accept decides: rollcall approve blue, or deny';

test.each([
  {
    reason: 'NoRuleMatched',
    message: 'no rule matched; a person decides: kubectl patch X',
    want: 'no rule matched; a person decides: kubectl patch X, or by rollcall approve blue, or deny',
  },
  { reason: 'KeyChanged', message: 'keys; a person decides', want: 'keys; a person decides' },
  { reason: 'Unbanned', message: 'bea takes the ban back', want: `bea takes the ban back; ${who}` },
  { reason: 'RestoredDecision', message: 'approve again', want: `approve again; ${who}` },
  { reason: 'NoRuleMatched', message: '', want: who },
])('a request that is held ($reason) says once who must do what', ({ reason, message, want }) => {
  const decision = aDecision({ verdict: 'held', reason, message });
  expect(outcome({ identity, decision })).toMatchObject({ message: want });
});

test('of another key that is held for any reason, nobody is told to approve without naming it', () => {
  const message = 'rule "freeze" holds; a person decides: rollcall approve blue --replace-key a-b';
  const about = { verdict: 'held', reason: 'PolicyHeld', message, key: 'K1', approvedKey: 'K0' } as const;
  expect(outcome({ identity, decision: aDecision(about) })).toMatchObject({ message });
});

test('a refused request says what to do about it', () => {
  const status = outcome({ identity: anIdentity({ state: 'refused', refusal }) });
  expect(status).toMatchObject({
    errorMessage: refusal.message,
    message: `${refusal.message}. ${errorCatalogue.NAME_TAKEN.hint}`,
  });
});

test('a person who decided is named', () => {
  const decision = aDecision({ by: { person: 'anna@example.org' } });
  expect(outcome({ identity, decision })).toMatchObject({
    by: 'anna@example.org',
    dedicatedNamespace: 'blue',
    managedClusterName: 'blue',
    observed: { epoch: 1, sequence: 2 },
  });
});

test('what is asked for is shown, and never a decision', () => {
  const wanted = desiredRequest(aRecord({ identity: anIdentity({ clientId: 'edge/7' }) }));
  expect(wanted.presence === 'present' && wanted.shape).toMatchObject({
    clusterId: identity.clusterId,
    clientId: 'edge/7',
    clusterName: 'blue',
    keyFingerprint: 'aaaa-bbbb-cccc-dddd',
    token: 'rollcall-join/first',
    labels: { team: 'a' },
    factsDigest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
  });
  expect(wanted).not.toHaveProperty('shape.decision');
});

test('every code of the catalogue, and any text, makes a reason and a status that fit the schema', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.constantFrom(...Object.keys(errorCatalogue)), fc.string()),
      fc.string(),
      (code, message) => {
        expect(codeAsReason(code)).toMatch(/^[A-Za-z][A-Za-z0-9]*$/);
        const wanted = desiredRequest(
          aRecord({ identity: anIdentity({ state: 'refused', refusal: { code, message } }) }),
        );
        if (wanted.presence !== 'present') throw new Error('it is there');
        expect(clusterRegistrationRequest.status.safeParse(wanted.status).error).toBeUndefined();
        expect(clusterRegistrationRequest.spec.safeParse(wanted.shape).error).toBeUndefined();
      },
    ),
  );
});

test('a request carries the labels that people select clusters by', () => {
  const { clusterId, clusterName } = identity;
  expect(requestLabels(aRecord({ identity }))).toEqual({
    [labels.clusterId]: clusterId,
    [labels.clusterName]: clusterName,
    [labels.registeredBy]: 'agent',
  });
});
