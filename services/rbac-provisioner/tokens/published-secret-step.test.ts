import {
  foldRecord,
  type Publication,
  type StoredEvent,
  type TokenDeclaration,
  tokenPublished,
  tokenPublishingFailed,
  tokenRecord,
  type TokenRecord,
} from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { aDeclaration } from '../../../tests/harness/events.ts';
import { publicationStep } from './published-secret-step.ts';
import { publicationEvents } from './publish-token.ts';

const nowMs = 1_700_000_000_000;
const published: Publication = { state: 'published', publicKey: 'UKEY', secretUid: 's1', atMs: nowMs };
const failed: Publication = {
  state: 'failed',
  atMs: nowMs,
  error: { code: 'SECRET_TAKEN', message: 'it exists' },
};

function asked(more: Partial<TokenDeclaration> = {}, publication?: Publication): TokenRecord {
  const record = tokenRecord(foldRecord({ kind: 'token', id: 'publish-u' }, []));
  const { publicKey: _none, ...declaration } = aDeclaration({
    publicationId: 'publish-u',
    expiresAtMs: nowMs + 1,
    ...more,
  });
  return { ...record, declaration, publication };
}
function declaredAgain(more: Partial<TokenDeclaration> = {}): TokenRecord {
  const at = (sequence: number) => ({ epoch: 1, sequence }) as StoredEvent;
  return { ...asked(more, published), lastOf: { 'rbac-provisioner': at(2), approver: at(3) } };
}
const ofKey = (used: number): TokenRecord => ({
  ...asked(),
  uses: { used, lastUsedBy: 'c', lastUsedAtMs: nowMs - 1 },
});

test.each([
  { name: 'asked for', record: asked(), want: 'make' },
  { name: 'made', record: asked({}, published), want: undefined },
  { name: 'could not be made', record: asked({}, failed), want: 'make' },
  { name: 'ends exactly now', record: asked({ expiresAtMs: nowMs }, published), want: 'remove' },
  { name: 'never ends', record: asked({ expiresAtMs: undefined }, published), want: undefined },
  { name: 'deleted', record: asked({ withdrawn: true }, published), want: 'remove' },
  {
    name: 'deleted before anybody told that it was made',
    record: asked({ withdrawn: true }),
    want: 'remove',
  },
  {
    name: 'has a mistake just now',
    record: asked({ withdrawn: true, problem: { reason: 'InvalidTtl', message: 'm' } }, published),
    want: undefined,
  },
  {
    name: 'has a mistake still when it ends',
    record: asked(
      { withdrawn: true, problem: { reason: 'InvalidSet', message: 'm' }, expiresAtMs: nowMs },
      published,
    ),
    want: 'remove',
  },
  { name: 'used once of two', record: asked({ uses: 2 }, published), key: ofKey(1), want: undefined },
  { name: 'used for the last time', record: asked({ uses: 2 }, published), key: ofKey(2), want: 'remove' },
  { name: 'changed since', record: declaredAgain(), want: 'reword' },
  {
    name: 'changed since into what cannot be taken',
    record: declaredAgain({ withdrawn: true, problem: { reason: 'InvalidSet', message: 'm' } }),
    want: undefined,
  },
  { name: 'unlimited', record: asked({ uses: 'unlimited' }, published), key: ofKey(99), want: undefined },
])('the Secret of a token that $name: $want', ({ record, key, want }) => {
  expect(publicationStep(record, key, nowMs)).toBe(want);
});

const secret = { uid: 's1', publicKey: 'UKEY' };
const taken = { reason: 'SecretTaken', code: 'SECRET_TAKEN', message: 'it exists' } as const;
test.each([
  { name: 'made', record: asked(), made: secret, want: [tokenPublished] },
  { name: 'made, and told by a replica already', record: asked({}, published), made: secret, want: [] },
  { name: 'taken', record: asked(), made: taken, want: [tokenPublishingFailed] },
  { name: 'taken still', record: asked({}, failed), made: taken, want: [] },
  { name: 'made after all', record: asked({}, failed), made: secret, want: [tokenPublished] },
  { name: 'as it was', record: asked(), made: undefined, want: [] },
])('what is told of a Secret that is $name', ({ record, made, want }) => {
  const drafts = publicationEvents({ asked: record, made, nowMs });
  expect(drafts.map(({ definition }) => definition)).toEqual(want);
});

test('no event has the token in it', () => {
  const [told] = publicationEvents({ asked: asked(), made: secret, nowMs });
  expect(JSON.stringify(told?.section)).not.toContain('rc1.');
});
