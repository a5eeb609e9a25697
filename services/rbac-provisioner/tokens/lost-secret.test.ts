import { foldRecord, type Publication, type TokenDeclaration, tokenRecord } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { aDeclaration } from '../../../tests/harness/events.ts';
import { lostSecretEvents } from './lost-secret.ts';

const nowMs = 1_700_000_000_000;
const published: Publication = { state: 'published', publicKey: 'UKEY', secretUid: 's1', atMs: nowMs - 5 };
const failed: Publication = { state: 'failed', atMs: nowMs - 5 };

function asked(publication: Publication | undefined, more: Partial<TokenDeclaration> = {}) {
  const record = tokenRecord(foldRecord({ kind: 'token', id: 'publish-u' }, []));
  const declaration = aDeclaration({ publicationId: 'publish-u', expiresAtMs: nowMs + 1, ...more });
  return { ...record, declaration, publication };
}
const usedUp = { ...asked(undefined), uses: { used: 1, lastUsedBy: 'c', lastUsedAtMs: nowMs - 1 } };

test.each([
  { name: 'good', record: asked(published), want: ['unpublished'] },
  {
    name: 'good, with a key that is known',
    record: asked(published),
    ofKey: asked(undefined),
    want: ['unpublished'],
  },
  { name: 'good, and it was told', record: asked({ ...published, secretGoneAtMs: nowMs - 1 }), want: [] },
  { name: 'not made yet', record: asked(undefined), want: [] },
  { name: 'one that could not be made', record: asked(failed), want: [] },
  { name: 'at its end exactly now', record: asked(published, { expiresAtMs: nowMs }), want: [] },
  { name: 'taken back', record: asked(published, { withdrawn: true }), want: [] },
  { name: 'used up', record: asked(published), ofKey: usedUp, want: [] },
])(
  'what is told of a Secret that is not there, of a token that is $name: $want',
  ({ record, ofKey, want }) => {
    const drafts = lostSecretEvents(record, ofKey, nowMs);
    expect(drafts.map(({ definition }) => definition.type)).toEqual(want);
  },
);
